#include "tests/reference/rotary.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace etna;
using namespace etna::reference;

namespace {

const Vector sample{0.3, -1.2, 0.7, 2.0, -0.4, 0.9, 1.1, -0.6};

double dot(View a, View b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        total += a[i] * b[i];
    return total;
}

Vector rotated(Vector head, uint32_t position, Pairing pairing, const Rotary& rotary) {
    rotate(head, position, pairing, rotary);
    return head;
}

} // namespace

TEST_CASE("inverse frequencies decrease geometrically from one") {
    const Rotary rotary = make_rotary({.rotated = 8, .base = 10000});
    REQUIRE(rotary.inverse_frequencies.size() == 4);
    CHECK(rotary.inverse_frequencies[0] == 1.0);
    CHECK(rotary.inverse_frequencies[1] == Approx(0.1).epsilon(1e-14));
    CHECK(rotary.inverse_frequencies[2] == Approx(0.01).epsilon(1e-14));
    CHECK(rotary.inverse_frequencies[3] == Approx(0.001).epsilon(1e-14));
    CHECK(rotary.magnitude == 1.0);
}

TEST_CASE("a quarter turn takes (1, 0) to (0, 1), in the two elements that the pairing names") {
    const Rotary quarter{.inverse_frequencies = {std::numbers::pi / 2, 0}, .magnitude = 1};
    const Vector adjacent = rotated({1, 0, 5, 6}, 1, Pairing::adjacent, quarter);
    CHECK(adjacent[0] == Approx(0).margin(1e-15));
    CHECK(adjacent[1] == Approx(1).epsilon(1e-15));
    CHECK(adjacent[2] == 5.0);
    CHECK(adjacent[3] == 6.0);
    const Vector half_split = rotated({1, 5, 0, 6}, 1, Pairing::half_split, quarter);
    CHECK(half_split[0] == Approx(0).margin(1e-15));
    CHECK(half_split[1] == 5.0);
    CHECK(half_split[2] == Approx(1).epsilon(1e-15));
    CHECK(half_split[3] == 6.0);
}

TEST_CASE("rotation preserves norms and scores depend on the relative position alone") {
    const Rotary rotary = make_rotary({.rotated = 8, .base = 500});
    Vector other = sample;
    std::reverse(other.begin(), other.end());
    for (const Pairing pairing : {Pairing::adjacent, Pairing::half_split}) {
        const Vector turned = rotated(sample, 1234, pairing, rotary);
        CHECK(dot(turned, turned) == Approx(dot(sample, sample)).epsilon(1e-13));
        CHECK(rotated(sample, 0, pairing, rotary) == sample);
        const double near = dot(rotated(sample, 9, pairing, rotary), rotated(other, 4, pairing, rotary));
        const double far = dot(rotated(sample, 2009, pairing, rotary), rotated(other, 2004, pairing, rotary));
        CHECK(near == Approx(far).epsilon(1e-11));
        CHECK(std::fabs(near - dot(sample, other)) > 0.01); // and on that it does depend
    }
}

TEST_CASE("the pairings are one rotation of differently ordered elements") {
    const Rotary rotary = make_rotary({.rotated = 8});
    Vector interleaved(8);
    for (std::size_t i = 0; i < 4; ++i) {
        interleaved[2 * i] = sample[i];
        interleaved[2 * i + 1] = sample[i + 4];
    }
    const Vector split = rotated(sample, 17, Pairing::half_split, rotary);
    const Vector adjacent = rotated(interleaved, 17, Pairing::adjacent, rotary);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(adjacent[2 * i] == split[i]);
        CHECK(adjacent[2 * i + 1] == split[i + 4]);
    }
}

TEST_CASE("partial rotation leaves the rest of each head alone") {
    const Rotary rotary = make_rotary({.rotated = 4});
    for (const Pairing pairing : {Pairing::adjacent, Pairing::half_split}) {
        Vector heads = sample;
        heads.insert(heads.end(), sample.begin(), sample.end());
        rotate_heads(heads, 8, 5, pairing, rotary);
        const Vector first(heads.begin(), heads.begin() + 8);
        CHECK(first == Vector(heads.begin() + 8, heads.end()));
        CHECK(first == rotated(sample, 5, pairing, rotary));
        CHECK(Vector(first.begin() + 4, first.end()) == Vector(sample.begin() + 4, sample.end()));
        CHECK(first[0] != sample[0]);
        CHECK(first[3] != sample[3]);
    }
}

TEST_CASE("linear scaling by s at position s p equals no scaling at position p") {
    const Rotary plain = make_rotary({.rotated = 8});
    const Rotary scaled = make_rotary({.rotated = 8, .factor = 4});
    const Vector expected = rotated(sample, 25, Pairing::adjacent, plain);
    const Vector actual = rotated(sample, 100, Pairing::adjacent, scaled);
    for (std::size_t i = 0; i < 8; ++i)
        CHECK(actual[i] == Approx(expected[i]).epsilon(1e-13));
}

TEST_CASE("llama3's tensor divides each frequency by its own number") {
    const Rotary rotary = make_rotary({.rotated = 6, .base = 1000, .divisors = {1, 2, 8}});
    CHECK(rotary.inverse_frequencies[0] == 1.0);
    CHECK(rotary.inverse_frequencies[1] == Approx(0.05).epsilon(1e-14));
    CHECK(rotary.inverse_frequencies[2] == Approx(0.01 / 8).epsilon(1e-14));
}

TEST_CASE("YaRN does not scale fast pairs, interpolates slow ones, and ramps between") {
    // With base e^16 and 32 rotated elements pair i has the frequency e^-i. An original context of 2 pi e^10
    // makes it turn e^(10 - i) times; beta_fast = e^7 and beta_slow = e^3 put the ramp's ends at the pairs 3
    // and 7.
    const RotaryOptions options{.rotated = 32,
                                .base = std::exp(16.0),
                                .factor = 8,
                                .yarn = Yarn{.original_context_tokens = 2 * std::numbers::pi * std::exp(10.0),
                                             .beta_fast = std::exp(6.9),  // 3.1, rounded down to 3
                                             .beta_slow = std::exp(3.1)}, // 6.9, rounded up to 7
                                .attention_factor = 1.5};
    const Rotary rotary = make_rotary(options);
    const Vector shares{0, 0, 0, 0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        CAPTURE(i);
        const double unscaled = std::exp(-static_cast<double>(i));
        CHECK(rotary.inverse_frequencies[i] ==
              Approx(unscaled * (1 - shares[i]) + unscaled / 8 * shares[i]).epsilon(1e-12));
    }
    CHECK(rotary.magnitude == Approx(1.5 * (1 + 0.1 * std::log(8.0))).epsilon(1e-15));
}

TEST_CASE("YaRN by a factor of one changes nothing") {
    const Rotary plain = make_rotary({.rotated = 64});
    const Rotary yarn =
        make_rotary({.rotated = 64, .factor = 1, .yarn = Yarn{.original_context_tokens = 2048}});
    for (std::size_t i = 0; i < 32; ++i)
        CHECK(yarn.inverse_frequencies[i] == Approx(plain.inverse_frequencies[i]).epsilon(1e-15));
    CHECK(yarn.magnitude == 1.0);
}

TEST_CASE("YaRN's magnitude multiplies the rotated elements only") {
    const Rotary rotary{.inverse_frequencies = {0.1, 0.2}, .magnitude = 3};
    const Vector turned = rotated({1, 0, 0, 2, 7}, 0, Pairing::adjacent, rotary);
    CHECK(turned == Vector{3, 0, 0, 6, 7});
}
