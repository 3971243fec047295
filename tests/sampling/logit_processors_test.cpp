// Logit processors (step 1 of parameters.hpp) against their definitions.

#include "core/sampling/logit_processors.hpp"
#include "tests/sampling/random_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::sampling {
namespace {

using test::infinity;
constexpr float float_max = std::numeric_limits<float>::max();

using Tokens = std::vector<TokenId>;

/// Runs step 1 in the order of Sampler.
std::vector<float> changed(const test::SamplingCase& one) {
    std::vector<float> logits = one.logits;
    std::vector<uint32_t> per_token(logits.size());
    std::vector<uint32_t> lengths;
    Tokens tokens;
    const SequenceBreakers breakers = SequenceBreakers::create(one.past.breakers).value();
    const History history = test::context_of(one.past, tokens, breakers).history;
    add_logit_bias(logits, one.past.biases);
    apply_repetition_penalty(logits, one.parameters, history, per_token);
    apply_frequency_penalty(logits, one.parameters, history, per_token);
    apply_presence_penalty(logits, one.parameters, history, per_token);
    apply_dry(logits, one.parameters, breakers, history, per_token, lengths);
    CHECK(std::all_of(per_token.begin(), per_token.end(), [](uint32_t count) { return count == 0; }));
    return logits;
}

void compare(const test::SamplingCase& one) {
    const std::vector<float> got = changed(one);
    const reference::Vector expected =
        reference::changed_logits(one.exact_logits(), one.parameters, one.past);
    INFO(one.describe());
    for (std::size_t token = 0; token < got.size(); ++token) {
        INFO("token " << token << " has " << got[token] << ", not " << expected[token]);
        if (std::isinf(expected[token])) {
            REQUIRE(double{got[token]} == expected[token]);
        } else {
            REQUIRE(std::abs(got[token] - expected[token]) <=
                    1e-6 * std::max(1.0, std::abs(expected[token])));
        }
    }
}

TEST_CASE("processed logits match the definitions") {
    std::mt19937 generator(11);
    for (uint32_t round = 0; round < 4000; ++round)
        compare(test::random_case(generator));
}

TEST_CASE("penalty windows are exact at their edges") {
    std::mt19937 generator(12);
    for (uint32_t length = 0; length < 12; ++length) {
        test::SamplingCase one = test::random_case(generator);
        one.logits.resize(9, 1);
        one.past.biases.clear();
        one.past.prompt = test::random_tokens(generator, 5, 9);
        one.past.output = test::random_tokens(generator, 6, 9);
        one.parameters.repetition_penalty = 1.5F;
        one.parameters.presence_penalty = one.parameters.frequency_penalty = 0.5F;
        one.parameters.dry_multiplier = 1;
        one.parameters.dry_allowed_length = 1;
        one.parameters.repetition_window_tokens = one.parameters.presence_window_tokens = length;
        one.parameters.frequency_window_tokens = one.parameters.dry_window_tokens = length;
        compare(one);
    }
}

TEST_CASE("extreme logits stay finite, and impossible tokens stay impossible") {
    test::SamplingCase one;
    one.logits = {float_max, -float_max, 0, -infinity, 1e-40F, -1e30F};
    one.past = {.prompt = {0, 1, 2, 3, 4, 5}, .output = {0, 1, 2, 3, 4, 5}};
    for (const float repetition : {1e-30F, 100.0F}) {
        for (const float other : {-100.0F, 100.0F}) {
            one.parameters = {.repetition_penalty = repetition,
                              .presence_penalty = other,
                              .frequency_penalty = other,
                              .dry_multiplier = 100,
                              .dry_base = 100};
            one.past.biases = {{0, float_max}, {1, -float_max}, {3, float_max}};
            compare(one);
            for (const float logit : changed(one))
                CHECK(!std::isnan(logit));
            CHECK(changed(one)[3] == -infinity);
        }
    }
    // A repetition so long that its penalty overflows still bans nothing.
    one.past = {.prompt = Tokens(2000, 2)};
    compare(one);
    CHECK(changed(one)[2] == -float_max);
}

TEST_CASE("neutral values and an empty history change nothing") {
    std::mt19937 generator(14);
    for (uint32_t round = 0; round < 200; ++round) {
        test::SamplingCase unchanged = test::random_case(generator);
        unchanged.past.biases.clear();
        unchanged.parameters = {};
        CHECK(changed(unchanged) == unchanged.logits);
        test::SamplingCase empty = test::random_case(generator);
        empty.past = {};
        CHECK(changed(empty) == empty.logits);
        test::SamplingCase blind = test::random_case(generator);
        blind.past.biases.clear();
        blind.parameters.repetition_window_tokens = blind.parameters.presence_window_tokens = 0;
        blind.parameters.frequency_window_tokens = blind.parameters.dry_window_tokens = 0;
        CHECK(changed(blind) == blind.logits);
        CHECK(!changes_logits(blind.parameters));
    }
}

TEST_CASE("penalties over the full history ignore the order of tokens") {
    std::mt19937 generator(15);
    for (uint32_t round = 0; round < 200; ++round) {
        test::SamplingCase one = test::random_case(generator);
        one.parameters.dry_multiplier = 0;
        one.parameters.repetition_window_tokens = one.parameters.presence_window_tokens = full_history;
        one.parameters.frequency_window_tokens = full_history;
        const std::vector<float> before = changed(one);
        INFO(one.describe());
        std::shuffle(one.past.prompt.begin(), one.past.prompt.end(), generator);
        std::shuffle(one.past.output.begin(), one.past.output.end(), generator);
        CHECK(changed(one) == before);
    }
}

TEST_CASE("tokens outside the vocabulary are ignored") {
    test::SamplingCase one;
    one.logits = {1, 2};
    one.past = {.prompt = {7, 1, 9, 7, 1, 9}, .output = {7, 1}};
    one.parameters = {.repetition_penalty = 2,
                      .presence_penalty = 1,
                      .frequency_penalty = 1,
                      .dry_multiplier = 1,
                      .dry_allowed_length = 1};
    CHECK(changed(one) == std::vector<float>{1, 2.0F / 2 - 2});
}

TEST_CASE("check() refuses a logit bias outside the vocabulary") {
    CHECK(check(std::vector<LogitBias>{{0, 1}, {4, -infinity}}, 5));
    CHECK(check(std::vector<LogitBias>{{5, 1}}, 5).error().message.find("token 5") != std::string::npos);
    CHECK(!check(std::vector<LogitBias>{{1, infinity}}, 5));
    CHECK(!check(std::vector<LogitBias>{{1, std::nanf("")}}, 5));
    std::vector<float> logits = {1, 1};
    add_logit_bias(logits, std::vector<LogitBias>{{1, -infinity}, {1, 5}});
    CHECK(logits == std::vector<float>{1, -infinity});
}

TEST_CASE("create() refuses sequence breakers without tokens or with too many") {
    CHECK(!SequenceBreakers::create({{}}));
    CHECK(!SequenceBreakers::create({Tokens(breaker_tokens_max + 1, 1)}));
    const SequenceBreakers breakers =
        SequenceBreakers::create({{3}, {4, 5}, {6, 6, 5}, Tokens(breaker_tokens_max, 9)}).value();
    CHECK(breakers.contains(3));
    CHECK(!breakers.contains(5));
    CHECK(breakers.tokens_after_last(Tokens{1, 3, 2, 2}, 9) == 2);
    CHECK(breakers.tokens_after_last(Tokens{1, 3, 2, 2}, 1) == 1);
    CHECK(breakers.tokens_after_last(Tokens{4, 5, 2}, 9) == 1);
    CHECK(breakers.tokens_after_last(Tokens{6, 6, 5}, 9) == 0);
    CHECK(breakers.tokens_after_last(Tokens{5, 6, 5}, 9) == 3);
    CHECK(breakers.tokens_after_last(Tokens{}, 9) == 0);
}

TEST_CASE("DRY takes linear time on long repetitions") {
    // A quadratic algorithm would take about 10^12 steps for 10^6 tokens.
    constexpr std::size_t length = 1000000;
    std::vector<Tokens> histories(3, Tokens(length, 1));
    for (std::size_t i = 0; i < length; ++i) {
        histories[1][i] = i % 2;
        histories[2][i] = i % 1000 == 0 ? 0 : 1;
    }
    const SequenceBreakers breakers = SequenceBreakers::create({{0, 0, 1}, {1, 1, 0, 0}, {2}}).value();
    const Parameters parameters{.dry_multiplier = 1, .dry_base = 1};
    for (const Tokens& tokens : histories) {
        std::vector<float> logits(3);
        std::vector<uint32_t> per_token(3);
        std::vector<uint32_t> lengths;
        const auto start = std::chrono::steady_clock::now();
        apply_dry(logits, parameters, breakers, {.tokens = tokens}, per_token, lengths);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        CHECK(seconds.count() < 10);
        CHECK(logits[2] == 0);
    }
}

} // namespace
} // namespace etna::sampling
