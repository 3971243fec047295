#include "tests/reference/sampling.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::reference;

namespace {

using Words = std::array<uint32_t, 4>;

// Logits of the probabilities 0.1, 0.4, 0.2, 0.25, 0.05 for tokens 0 to 4.
const Vector logits{std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.25), std::log(0.05)};

const sampling::Parameters everything{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};

void check_choices(const std::vector<Choice>& choices, const std::vector<Choice>& expected) {
    REQUIRE(choices.size() == expected.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
        CAPTURE(i);
        CHECK(choices[i].token == expected[i].token);
        CHECK(choices[i].probability == Approx(expected[i].probability).epsilon(1e-6));
    }
}

} // namespace

TEST_CASE("without filters the distribution is the softmax, most likely first") {
    check_choices(distribution(logits, everything), {{1, 0.4}, {3, 0.25}, {2, 0.2}, {0, 0.1}, {4, 0.05}});
}

TEST_CASE("temperature zero is the one greedy choice, whatever the filters say") {
    const sampling::Parameters parameters{.temperature = 0, .top_k = 3, .top_p = 0.1F, .min_p = 1};
    check_choices(distribution(Vector{1, 3, 3, 2}, parameters), {{1, 1.0}});
}

TEST_CASE("top-k selects the k most likely tokens") {
    sampling::Parameters parameters = everything;
    parameters.top_k = 2;
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
    parameters.top_k = 9;
    CHECK(distribution(logits, parameters).size() == 5);
    parameters.top_k = 1;
    check_choices(distribution(Vector{2, 2, 2}, parameters), {{0, 1.0}});
}

TEST_CASE("top-p selects the smallest set that reaches it, at least one token") {
    sampling::Parameters parameters = everything;
    parameters.top_p = 0.6F;
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
    parameters.top_p = 0.66F;
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.85}, {3, 0.25 / 0.85}, {2, 0.2 / 0.85}});
    parameters.top_p = 1e-6F;
    check_choices(distribution(logits, parameters), {{1, 1.0}});
    parameters.top_p = 0.5F; // reached exactly by the first of two equals
    check_choices(distribution(Vector{0, 0}, parameters), {{0, 1.0}});
}

TEST_CASE("min-p drops tokens far less likely than the first") {
    sampling::Parameters parameters = everything;
    parameters.min_p = 0.3F;
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.85}, {3, 0.25 / 0.85}, {2, 0.2 / 0.85}});
    parameters.min_p = 1;
    check_choices(distribution(Vector{2, 1, 2}, parameters), {{0, 0.5}, {2, 0.5}});
}

TEST_CASE("typical selects the tokens with the surprise nearest to the entropy") {
    // Entropy 1.415. Surprises 2.303, 0.916, 1.609, 1.386, 2.996: token 3 is nearest, then 2, 1, 0, 4.
    sampling::Parameters parameters = everything;
    parameters.typical_p = 0.2F;
    check_choices(distribution(logits, parameters), {{3, 1.0}});
    parameters.typical_p = 0.44F;
    check_choices(distribution(logits, parameters), {{3, 0.25 / 0.45}, {2, 0.2 / 0.45}});
    parameters.typical_p = 0.46F;
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.85}, {3, 0.25 / 0.85}, {2, 0.2 / 0.85}});
    parameters.typical_p = 0.86F;
    CHECK(distribution(logits, parameters).size() == 4);
}

TEST_CASE("top-n-sigma selects the logits within n standard deviations of the largest") {
    // Mean 2, variance (4 + 1 + 1 + 4) / 4 = 2.5, sigma 1.581; -infinity counts nothing.
    const Vector four{0, 4, 1, 3, -std::numeric_limits<double>::infinity()};
    sampling::Parameters parameters = everything;
    parameters.top_n_sigma = 0.6F; // from 3.051 on
    check_choices(distribution(four, parameters), {{1, 1.0}});
    parameters.top_n_sigma = 0.7F; // from 2.893 on
    CHECK(distribution(four, parameters).size() == 2);
    parameters.top_n_sigma = 2; // from 0.838 on
    CHECK(distribution(four, parameters).size() == 3);
    parameters.min_keep = 4;
    CHECK(distribution(four, parameters).size() == 4);
}

TEST_CASE("XTC leaves only the least likely of the top choices") {
    sampling::Parameters parameters = everything;
    parameters.xtc_threshold = 0.19F; // 0.4, 0.25 and 0.2 are
    check_choices(distribution(logits, parameters, Xtc::strikes),
                  {{2, 0.2 / 0.35}, {0, 0.1 / 0.35}, {4, 0.05 / 0.35}});
    CHECK(distribution(logits, parameters).size() == 5);
    parameters.min_keep = 4;
    CHECK(distribution(logits, parameters, Xtc::strikes).size() == 5);
    parameters.xtc_threshold = 0.3F; // only one is
    CHECK(distribution(logits, parameters, Xtc::strikes).size() == 5);
}

TEST_CASE("every filter leaves min-keep tokens") {
    for (const sampling::Parameters& parameters :
         {sampling::Parameters{.temperature = 1, .top_k = 1, .top_p = 1, .min_p = 0, .min_keep = 3},
          sampling::Parameters{.temperature = 1, .top_k = 0, .top_p = 0.01F, .min_p = 0, .min_keep = 3},
          sampling::Parameters{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 1, .min_keep = 3},
          sampling::Parameters{
              .temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .typical_p = 0.01F, .min_keep = 3}})
        CHECK(distribution(logits, parameters).size() == 3);
}

TEST_CASE("XTC removes tokens with its probability") {
    sampling::Parameters parameters = everything;
    parameters.xtc_probability = 0.25F;
    uint32_t strikes = 0;
    for (uint32_t position = 0; position < 10000; ++position)
        strikes += xtc_at(parameters, position) == Xtc::strikes ? 1 : 0;
    CHECK(strikes == Approx(2500).margin(173)); // four standard deviations
    parameters.xtc_probability = 0;
    CHECK(xtc_at(parameters, 0) == Xtc::spares);
    parameters.xtc_probability = 1;
    CHECK(xtc_at(parameters, 0) == Xtc::strikes);
}

TEST_CASE("each filter sees the renormalised rest of the one before, and temperature comes last") {
    // Top-k leaves 8/17, 5/17, 4/17. Without renormalising, 0.4 + 0.25 would not reach 0.7; after it, 13/17
    // does.
    sampling::Parameters parameters{.temperature = 1, .top_k = 3, .top_p = 0.7F, .min_p = 0};
    check_choices(distribution(logits, parameters), {{1, 0.4 / 0.65}, {3, 0.25 / 0.65}});
    // A temperature of 1/2 squares. Were it first, the second would fall below min-p: (25 / 40)^2 < 0.6.
    parameters = {.temperature = 0.5F, .top_k = 0, .top_p = 1, .min_p = 0.6F};
    check_choices(distribution(logits, parameters), {{1, 1600.0 / 2225}, {3, 625.0 / 2225}});
}

TEST_CASE("a temperature near zero is near greedy, and a large one near uniform") {
    sampling::Parameters parameters = everything;
    parameters.temperature = 1e-6F;
    CHECK(distribution(logits, parameters)[0].probability == 1.0);
    parameters.temperature = 1e6F;
    for (const Choice& choice : distribution(logits, parameters))
        CHECK(choice.probability == Approx(0.2).epsilon(1e-5));
}

TEST_CASE("a draw walks the running sum") {
    const std::vector<Choice> choices{{7, 0.5}, {3, 0.25}, {9, 0.25}};
    CHECK(draw(choices, 0) == 7);
    CHECK(draw(choices, 0.4999) == 7);
    CHECK(draw(choices, 0.5) == 3);
    CHECK(draw(choices, 0.75) == 9);
    CHECK(draw(choices, 0.9999) == 9);
    CHECK(draw(std::vector<Choice>{{4, 0.9}}, 0.95) == 4); // probabilities that rounding left short of one
}

TEST_CASE("Philox4x32-10 gives the known answers published with Random123") {
    CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
    CHECK(philox4x32_10({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {0xFFFFFFFF, 0xFFFFFFFF}) ==
          Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
    CHECK(philox4x32_10({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
          Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("the uniform number is the top 24 bits of the first word") {
    CHECK(uniform(0, 0) == 0x6627E8 / 16777216.0);
    double mean = 0;
    constexpr uint32_t count = 10000;
    for (uint32_t position = 0; position < count; ++position) {
        const double value = uniform(42, position);
        REQUIRE(value >= 0);
        REQUIRE(value < 1);
        mean += value / count;
    }
    CHECK(mean == Approx(0.5).margin(0.012)); // four standard deviations of sqrt(1 / 12 / count)
}
