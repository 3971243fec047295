// Filters (step 2 of parameters.hpp), one by one and at neutral values; chain_test.cpp tests them together.

#include "core/sampling/candidates.hpp"
#include "core/sampling/filters.hpp"
#include "tests/reference/sampling.hpp"
#include "tests/sampling/random_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

using test::infinity;

std::vector<Candidate> all_of(const std::vector<float>& logits) {
    std::vector<Candidate> candidates;
    find_top(logits, logits.size(), candidates);
    return candidates;
}

std::vector<TokenId> tokens_of(std::span<const Candidate> candidates) {
    std::vector<TokenId> tokens;
    for (const Candidate& candidate : candidates)
        tokens.push_back(candidate.token);
    return tokens;
}

/// Returns the tokens that the twin's filter retains, with only one filter enabled.
std::vector<TokenId> expected_of(const std::vector<float>& logits, const Parameters& only,
                                 reference::Xtc xtc = reference::Xtc::spares) {
    std::vector<TokenId> tokens;
    const reference::Vector exact(logits.begin(), logits.end());
    for (const reference::Choice& choice : reference::distribution(exact, only, xtc))
        tokens.push_back(choice.token);
    return tokens;
}

constexpr Parameters neutral{.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};

/// Calls check(case, only, min_keep) with random logits and a fraction in (0, 1).
template <class Check>
void for_random_cases(uint32_t seed, const Check& check) {
    std::mt19937 generator(seed);
    for (uint32_t round = 0; round < 2000; ++round) {
        test::SamplingCase one;
        one.logits = test::random_logits(generator, 70);
        one.parameters = neutral;
        one.parameters.min_keep = round % 2 == 0 ? 0 : generator() % 12;
        INFO(one.describe());
        check(one, static_cast<float>(1 + generator() % 999) / 1000);
    }
}

TEST_CASE("find_top() equals a full sort without impossible tokens") {
    std::mt19937 generator(21);
    std::vector<Candidate> found;
    for (uint32_t round = 0; round < 2000; ++round) {
        const std::vector<float> logits = test::random_logits(generator, 200);
        const std::size_t count = generator() % 220;
        std::vector<Candidate> expected;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (!std::isinf(logits[i]))
                expected.push_back({static_cast<TokenId>(i), logits[i]});
        }
        std::stable_sort(expected.begin(), expected.end(),
                         [](const Candidate& a, const Candidate& b) { return a.logit > b.logit; });
        expected.resize(std::min(expected.size(), count));
        find_top(logits, count, found);
        INFO("round " << round << ", the first " << count << " of " << logits.size());
        REQUIRE(tokens_of(found) == tokens_of(expected));
    }
}

TEST_CASE("top-n-sigma matches its twin") {
    for_random_cases(22, [](test::SamplingCase& one, float fraction) {
        one.parameters.top_n_sigma = 4 * fraction;
        auto left = all_of(one.logits);
        left.resize(std::min(left.size(), count_within_sigmas(one.logits, one.parameters.top_n_sigma,
                                                              one.parameters.min_keep)));
        REQUIRE(tokens_of(left) == expected_of(one.logits, one.parameters));
    });
    CHECK(count_within_sigmas(std::vector<float>{3, 3, 3}, 0.1, 0) == 3); // sigma is 0
    CHECK(count_within_sigmas(std::vector<float>{5}, 1, 0) == 1);
}

TEST_CASE("typical matches its twin, in order") {
    std::vector<std::pair<double, uint32_t>> scratch;
    for_random_cases(23, [&](test::SamplingCase& one, float fraction) {
        one.parameters.typical_p = fraction;
        auto left = all_of(one.logits);
        keep_typical(left, fraction, one.parameters.min_keep, scratch);
        REQUIRE(tokens_of(left) == expected_of(one.logits, one.parameters));
        REQUIRE(std::is_sorted(left.begin(), left.end(), comes_before));
    });
    auto uniform = all_of({1, 1, 1, 1});
    keep_typical(uniform, 0.5, 0, scratch);
    CHECK(tokens_of(uniform) == std::vector<TokenId>{0, 1}); // equals: the smaller ids
    // The max likely token is not typical when the others hold max of the probability: H is 2.04 here, its
    // surprise 1.2, theirs 1.95 each.
    auto flat = all_of({0.75F, 0, 0, 0, 0, 0});
    keep_typical(flat, 0.4, 0, scratch);
    CHECK(tokens_of(flat) == std::vector<TokenId>{1, 2, 3});
}

TEST_CASE("top-p and min-p match their twins") {
    for_random_cases(24, [](test::SamplingCase& one, float fraction) {
        const auto candidates = all_of(one.logits);
        Parameters only = one.parameters;
        only.top_p = fraction;
        auto left = candidates;
        left.resize(count_within_top_p(left, fraction, only.min_keep));
        REQUIRE(tokens_of(left) == expected_of(one.logits, only));
        only = one.parameters;
        only.min_p = fraction;
        left = candidates;
        left.resize(count_within_min_p(left, fraction, only.min_keep));
        REQUIRE(tokens_of(left) == expected_of(one.logits, only));
    });
}

TEST_CASE("XTC matches its twin") {
    for_random_cases(25, [](test::SamplingCase& one, float fraction) {
        one.parameters.xtc_threshold = fraction / 2;
        const auto candidates = all_of(one.logits);
        const std::size_t excluded =
            count_top_choices(candidates, one.parameters.xtc_threshold, one.parameters.min_keep);
        REQUIRE(tokens_of(std::span(candidates).subspan(excluded)) ==
                expected_of(one.logits, one.parameters, reference::Xtc::strikes));
    });
    const auto candidates = all_of({0, 0, 0, 0});
    CHECK(count_top_choices(candidates, 0, 0) == 3); // one is always left
    CHECK(count_top_choices(candidates, 0.25, 0) == 3);
    CHECK(count_top_choices(candidates, 0.26, 0) == 0);
    CHECK(count_top_choices(candidates, 0.25, 2) == 0);
}

TEST_CASE("filters retain everything at neutral values, and one candidate at any value") {
    std::vector<std::pair<double, uint32_t>> scratch;
    for_random_cases(26, [&](test::SamplingCase& one, float) {
        auto candidates = all_of(one.logits);
        const std::size_t count = candidates.size();
        REQUIRE(count_within_sigmas(one.logits, 0, 0) >= count);
        REQUIRE(count_within_top_p(candidates, 1, 0) == count);
        REQUIRE(count_within_min_p(candidates, 0, 0) == count);
        REQUIRE(count_top_choices(candidates, 0.51, 0) == 0);
        REQUIRE(count_within_sigmas(one.logits, 1e-9, 0) >= 1);
        REQUIRE(count_within_top_p(candidates, 1e-9, 0) == 1);
        REQUIRE(count_within_min_p(candidates, 1, 0) >= 1);
        keep_typical(candidates, 1, 0, scratch);
        REQUIRE(candidates.size() == count);
        keep_typical(candidates, 1e-9, 0, scratch);
        REQUIRE(candidates.size() == 1);
    });
}

TEST_CASE("filters handle the largest floats") {
    constexpr float max = std::numeric_limits<float>::max();
    std::vector<std::pair<double, uint32_t>> scratch;
    for (const std::vector<float>& logits :
         {std::vector<float>{max, -max, 0}, {-max, -max}, {max, max}, {1e-40F, -infinity, -1e30F}}) {
        auto candidates = all_of(logits);
        const std::size_t count = candidates.size();
        for (const double value : {1e-30, 0.3, 0.999999}) {
            const auto is_possible = [&](std::size_t kept) { return kept >= 1 && kept <= count; };
            CHECK(is_possible(count_within_top_p(candidates, value, 0)));
            CHECK(is_possible(count_within_min_p(candidates, value, 0)));
            CHECK(is_possible(count_within_sigmas(logits, value, 0)));
            CHECK(count_top_choices(candidates, value, 0) < count);
            CHECK(draw(candidates, value, value) < count);
            auto typical = candidates;
            keep_typical(typical, value, 0, scratch);
            CHECK(is_possible(typical.size()));
        }
    }
}

} // namespace
} // namespace etna::sampling
