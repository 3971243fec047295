#include "tests/reference/sampling_changes.hpp"
#include "tests/support/catch.hpp"

#include <limits>

using namespace etna;
using namespace etna::reference;

namespace {

const Vector base_logits{2, -1, 0, 3};

} // namespace

TEST_CASE("without history nothing changes") {
    const sampling::Parameters all{
        .repetition_penalty = 2, .presence_penalty = 1, .frequency_penalty = 1, .dry_multiplier = 1};
    CHECK(changed_logits(base_logits, all, {}) == base_logits);
}

TEST_CASE("a repetition penalty divides positive logits and multiplies the others") {
    const sampling::Parameters parameters{.repetition_penalty = 2};
    CHECK(changed_logits(base_logits, parameters, {.prompt = {1, 3}, .output = {2, 3}}) ==
          Vector{2, -2, 0, 1.5});
    sampling::Parameters windowed = parameters;
    windowed.repetition_window_tokens = 1;
    CHECK(changed_logits(base_logits, windowed, {.prompt = {0}, .output = {1}}) == Vector{2, -2, 0, 3});
    CHECK(changed_logits(base_logits, windowed, {.prompt = {0}}) == Vector{1, -1, 0, 3});
}

TEST_CASE("frequency counts, presence does not, and neither sees the prompt") {
    CHECK(changed_logits(base_logits, {.frequency_penalty = 0.5}, {.prompt = {0}, .output = {1, 3, 3}}) ==
          Vector{2, -1.5, 0, 2});
    CHECK(changed_logits(base_logits, {.presence_penalty = 0.5}, {.prompt = {0}, .output = {1, 3, 3}}) ==
          Vector{2, -1.5, 0, 2.5});
    CHECK(changed_logits(base_logits, {.frequency_penalty = 0.5, .frequency_window_tokens = 2},
                         {.output = {3, 3, 3, 1}}) == Vector{2, -1.5, 0, 2.5});
}

TEST_CASE("biases add up, and minus infinity bans") {
    const double banned = changed_logits(
        base_logits, {}, {.biases = {{1, -std::numeric_limits<float>::infinity()}, {1, 5}}})[1];
    CHECK(banned == -std::numeric_limits<double>::infinity());
    CHECK(changed_logits(base_logits, {}, {.biases = {{0, 1}, {3, -0.5}, {0, 1}}}) == Vector{4, -1, 0, 2.5});
}

TEST_CASE("the length of a repetition is that of the longest suffix that occurred before the token") {
    // 1 2 3 9 2 3: the suffix 2 3 occurred before 9, and no longer suffix did.
    const std::vector<TokenId> tokens = {1, 2, 3, 9, 2, 3};
    CHECK(repetition_length(tokens, {}, 9) == 2);
    CHECK(repetition_length(tokens, {}, 2) == 0);
    CHECK(repetition_length({5, 5, 5, 5}, {}, 5) == 3); // occurrences may overlap the suffix
    CHECK(repetition_length(tokens, {{2}}, 9) == 1);    // only 3 follows the breaker
    CHECK(repetition_length(tokens, {{3}}, 9) == 0);
    CHECK(repetition_length(tokens, {{9, 2}}, 9) == 1);
    CHECK(repetition_length(tokens, {{9, 3}}, 9) == 2); // the breaker does not occur
    CHECK(repetition_length({}, {}, 9) == 0);
}

TEST_CASE("DRY's penalty grows with each token of the repetition") {
    sampling::Parameters parameters{.dry_multiplier = 0.5, .dry_base = 2, .dry_allowed_length = 2};
    // The suffix 1 2 1 2 occurred before 1 (overlapping), and a 2 never followed a 2.
    CHECK(changed_logits(Vector{0, 0, 0}, parameters, {.prompt = {1, 2, 1, 2}, .output = {1, 2}}) ==
          Vector{0, -0.5 * 4, 0});
    parameters.dry_window_tokens = 4;
    CHECK(changed_logits(Vector{0, 0, 0}, parameters, {.prompt = {1, 2, 1, 2}, .output = {1, 2}}) ==
          Vector{0, -0.5, 0});
    CHECK(changed_logits(Vector{0, 0, 0}, parameters, {.output = {1, 2, 1, 2}, .breakers = {{1}}}) ==
          Vector{0, 0, 0});
}
