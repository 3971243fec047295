#include "core/model/rotary.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <vector>

using namespace etna;
using model::Rotary;
using model::RotaryConfig;
using model::RotaryScaling;

TEST_CASE("frequencies decrease from 1 by equal factors") {
    const Rotary rotary(RotaryConfig{.dims = 8, .base = 10000, .divisors = {}, .long_divisors = {}}, 64);
    REQUIRE(rotary.frequencies().size() == 4);
    CHECK(rotary.frequencies()[0] == Approx(1));
    CHECK(rotary.frequencies()[1] == Approx(0.1));
    CHECK(rotary.frequencies()[2] == Approx(0.01));
    CHECK(rotary.frequencies()[3] == Approx(0.001));
    CHECK(rotary.magnitude() == 1);
}

TEST_CASE("angles are exact for distant positions") {
    const Rotary rotary(RotaryConfig{.dims = 4, .base = 10000, .divisors = {}, .long_divisors = {}}, 64);
    std::vector<float> angles(4);
    rotary.angles(1000000, angles);
    // cos and sin of 1000000 and of 10000 radians.
    CHECK(angles[0] == Approx(0.936752127).epsilon(1e-7));
    CHECK(angles[1] == Approx(-0.349993502).epsilon(1e-7));
    CHECK(angles[2] == Approx(-0.952155368).epsilon(1e-7));
    CHECK(angles[3] == Approx(-0.305614389).epsilon(1e-7));
}

TEST_CASE("linear scaling divides every frequency, divisors each its own") {
    const Rotary linear(RotaryConfig{.dims = 4,
                                     .base = 100,
                                     .scaling = RotaryScaling::linear,
                                     .factor = 4,
                                     .divisors = {},
                                     .long_divisors = {}},
                        64);
    CHECK(linear.frequencies()[0] == Approx(0.25));
    CHECK(linear.frequencies()[1] == Approx(0.025));
    const Rotary divided(RotaryConfig{.dims = 4, .base = 100, .divisors = {1.0F, 8.0F}, .long_divisors = {}},
                         64);
    CHECK(divided.frequencies()[0] == Approx(1));
    CHECK(divided.frequencies()[1] == Approx(0.0125));
}

TEST_CASE("YaRN does not scale fast pairs, interpolates slow ones and blends between") {
    // 16 dimensions, base 10000, original context 4096, factor 8. Pair i turns 4096 / (2 pi 10000^(i / 8))
    // times: 32 times at i = 16 ln(4096 / (64 pi)) / (2 ln 10000) = 2.618, once at i = 16 ln(4096 / (2 pi)) /
    // (2 ln 10000) = 5.628. So the ramp runs from pair 2 to pair 6: pairs 0 to 2 are unscaled, 6 and 7
    // interpolated; the unscaled fraction of 3 is 3/4, of 4 1/2, of 5 1/4.
    const Rotary rotary(RotaryConfig{.dims = 16,
                                     .base = 10000,
                                     .scaling = RotaryScaling::yarn,
                                     .factor = 8,
                                     .original_context = 4096,
                                     .divisors = {},
                                     .long_divisors = {}},
                        64);
    const std::vector<double> keep{1, 1, 1, 0.75, 0.5, 0.25, 0, 0};
    for (std::size_t i = 0; i < keep.size(); ++i) {
        INFO("pair " << i);
        const double own = std::pow(10000.0, -static_cast<double>(i) / 8);
        CHECK(rotary.frequencies()[i] == Approx(own * keep[i] + own / 8 * (1 - keep[i])).epsilon(1e-12));
    }
    CHECK(rotary.magnitude() == Approx(1.2079441541679836)); // 1 + 0.1 ln 8

    std::vector<float> angles(16);
    rotary.angles(0, angles);
    CHECK(angles[0] == Approx(1.2079441541679836));
    CHECK(angles[1] == 0);
}

TEST_CASE("the attention factor multiplies the magnitude") {
    const Rotary rotary(RotaryConfig{.dims = 4,
                                     .scaling = RotaryScaling::yarn,
                                     .factor = 4,
                                     .original_context = 64,
                                     .attention_factor = 0.5,
                                     .divisors = {},
                                     .long_divisors = {}},
                        64);
    CHECK(rotary.magnitude() == Approx(0.5 * 1.1386294361119891)); // 1 + 0.1 ln 4
}

TEST_CASE("LongRoPE takes the short divisors up to the original context and the long ones above") {
    const RotaryConfig config{.dims = 4,
                              .base = 100,
                              .scaling = RotaryScaling::longrope,
                              .original_context = 64,
                              .attention_factor = 1.25,
                              .divisors = {1.0F, 2.0F},
                              .long_divisors = {4.0F, 16.0F}};
    const Rotary within(config, 64);
    CHECK(within.frequencies()[0] == Approx(1));
    CHECK(within.frequencies()[1] == Approx(0.05));
    CHECK(within.magnitude() == 1.25);
    const Rotary above(config, 65);
    CHECK(above.frequencies()[0] == Approx(0.25));
    CHECK(above.frequencies()[1] == Approx(0.00625));
    CHECK(above.magnitude() == 1.25);
}
