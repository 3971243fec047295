// Answers that continue when the context is full.

#include "core/generate/context_shift.hpp"
#include "core/generate/generation.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using etna::test::token_range;

namespace {

constexpr uint32_t shifted_context = 48;

using ShiftTokens = std::vector<TokenId>;

ShiftTokens concatenated(ShiftTokens first, const ShiftTokens& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Model chaotic_model() {
    return test::model_without_script(shifted_context);
}

Request greedy_answer(const ShiftTokens& prompt, uint32_t max_tokens) {
    Request request;
    request.prompt = prompt;
    request.sampling.temperature = 0.0F;
    request.max_tokens = max_tokens;
    request.end_tokens = EndTokens::ignore;
    return request;
}

Finished run_shifted(const Model& model, const Request& request) {
    test::Events events;
    const Status status = generate::generate(model, request, events.sink());
    REQUIRE(status.has_value());
    REQUIRE(events.finished.size() == 1);
    return events.finished.front();
}

/// Returns the expected remainder of a shift: the first `keep` tokens, and the later half of the others.
ShiftTokens remaining_tokens(const ShiftTokens& tokens, std::size_t keep) {
    ShiftTokens rest;
    const std::size_t others = tokens.size() - keep;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i < keep || i - keep >= others / 2)
            rest.push_back(tokens[i]);
    }
    return rest;
}

} // namespace

TEST_CASE("a shift drops the first half after the protected prefix") {
    CHECK(shifted(token_range(0, 10), 2, {}) == concatenated({0, 1}, {6, 7, 8, 9}));
    CHECK(shifted(token_range(0, 11), 2, {}) == concatenated({0, 1}, {6, 7, 8, 9, 10}));
    CHECK(shifted(token_range(0, 10), 2, {.discard_tokens = 3}) == concatenated({0, 1}, {5, 6, 7, 8, 9}));
    CHECK(shifted(token_range(0, 10), 2, {.discard_tokens = 100}) == ShiftTokens{0, 1});
    CHECK(shifted(token_range(0, 34), 2, {.discard_tokens = 1}) ==
          concatenated({0, 1}, token_range(4, 34))); // a sixteenth
    CHECK(kept_tokens({.keep_tokens = 3}, 10, 1, 48) == 4);
    CHECK(kept_tokens({.keep_tokens = 30}, 10, 1, 48) == 10);
    CHECK(kept_tokens({.keep_tokens = std::nullopt}, 10, 1, 48) == 10);
    CHECK(kept_tokens({.keep_tokens = std::nullopt}, 100, 1, 48) == 44);
}

TEST_CASE("a long prompt is shortened by blocks after the protected prefix") {
    CHECK(shortened(token_range(0, 47), 4, 48) == token_range(0, 47));
    for (TokenId length = 48; length < 200; ++length) {
        CAPTURE(length);
        const ShiftTokens left = shortened(token_range(0, length), 4, 48);
        CHECK((left.size() < 48 && left.size() >= 4 + 22));
        CHECK((length - left.size()) % 22 == 0); // a block is half of the 44 after the first 4
        CHECK(left == concatenated(token_range(0, 4),
                                   token_range(length - static_cast<TokenId>(left.size()) + 4, length)));
    }
}

TEST_CASE("an answer continues after a shift as if the remaining context were its prompt") {
    const Model model = chaotic_model();
    const ShiftTokens prompt = token_range(5, 15);
    for (const uint32_t keep : {0U, 4U, 10U}) {
        CAPTURE(keep);
        Request request = greedy_answer(prompt, 100);
        request.context_shift = {.keep_tokens = keep};
        const Finished finished = run_shifted(model, request);
        REQUIRE(finished.tokens.size() == 100);
        CHECK(finished.finish_reason == FinishReason::length);
        CHECK(finished.prompt_tokens == prompt.size());
        CHECK(finished.generated_tokens == 100);
        // The same with requests that end at a full context.
        ShiftTokens context = prompt;
        ShiftTokens answer;
        uint32_t shifts = 0;
        while (answer.size() < 100) {
            const auto room = static_cast<uint32_t>(
                std::min<std::size_t>(shifted_context - context.size(), 100 - answer.size()));
            const Finished part = run_shifted(model, greedy_answer(context, room));
            answer = concatenated(answer, part.tokens);
            context = remaining_tokens(concatenated(context, part.tokens), keep);
            shifts += answer.size() < 100 ? 1 : 0;
        }
        CHECK(finished.tokens == answer);
        CHECK(finished.context_shifts == shifts);
        CHECK(shifts > 1);
    }
}

TEST_CASE("without a shift an answer ends when the context is full") {
    const Model model = chaotic_model();
    const Finished finished = run_shifted(model, greedy_answer(token_range(5, 15), 100));
    CHECK(finished.tokens.size() == shifted_context - 10);
    CHECK((finished.finish_reason == FinishReason::length && finished.context_shifts == 0));
}

TEST_CASE("the tokens to drop may be given") {
    const Model model = chaotic_model();
    Request request = greedy_answer(token_range(5, 15), 60);
    request.context_shift = {.keep_tokens = 10, .discard_tokens = 1000};
    const Finished finished = run_shifted(model, request);
    REQUIRE(finished.tokens.size() == 60);
    // Each shift leaves the prompt alone, so the greedy answer begins again.
    const ShiftTokens first(finished.tokens.begin(), finished.tokens.begin() + 22);
    CHECK(ShiftTokens(finished.tokens.begin() + 38, finished.tokens.end()) == first);
}

TEST_CASE("a long prompt is shortened with a shift, and refused without") {
    const Model model = chaotic_model();
    const ShiftTokens prompt = token_range(5, 105);
    Request request = greedy_answer(prompt, 5);
    const auto refused = Generation::begin(model, request);
    REQUIRE(!refused.has_value());
    CHECK(refused.error().kind == ErrorKind::context_exceeded);
    request.context_shift = {.keep_tokens = 4};
    const Finished finished = run_shifted(model, request);
    const ShiftTokens left =
        concatenated(token_range(5, 9), token_range(105 - 30, 105)); // 3 blocks of 22 of the 96 are dropped
    CHECK(finished.prompt_tokens == left.size());
    CHECK(finished.tokens == run_shifted(model, greedy_answer(left, 5)).tokens);
    CHECK(finished.context_shifts == 1);
}

TEST_CASE("a shift may apply to the prompt alone, or to the answer alone") {
    const Model model = chaotic_model();
    Request request = greedy_answer(token_range(5, 105), 100);
    request.context_shift = {.keep_tokens = 4, .scope = ShiftScope::answer};
    CHECK(Generation::begin(model, request).error().kind == ErrorKind::context_exceeded);
    request.context_shift->scope = ShiftScope::prompt;
    const Finished shortened = run_shifted(model, request);
    CHECK(shortened.tokens.size() == shifted_context - shortened.prompt_tokens);
    CHECK(shortened.context_shifts == 1);
    request.prompt = token_range(5, 15);
    CHECK(run_shifted(model, request).tokens.size() == shifted_context - 10);
    request.context_shift->scope = ShiftScope::answer;
    CHECK(run_shifted(model, request).tokens.size() == 100);
}

TEST_CASE("the tokens of an earlier exchange come before the prompt") {
    const Model model = chaotic_model();
    Request request = greedy_answer(token_range(15, 20), 5);
    request.earlier_tokens = token_range(5, 15);
    const Finished finished = run_shifted(model, request);
    CHECK(finished.prompt_tokens == 15);
    CHECK(finished.tokens == run_shifted(model, greedy_answer(token_range(5, 20), 5)).tokens);
    request.earlier_tokens = {1'000'000};
    CHECK(Generation::begin(model, request).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("several choices shift independently") {
    const Model model = chaotic_model();
    Request request = greedy_answer(token_range(5, 15), 80);
    request.sampling.temperature = 1.0F;
    request.seed = 3;
    request.choices = 3;
    request.context_shift.emplace();
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    std::vector<Finished> ends(3);
    std::vector<uint32_t> counts(3); // as seen during the answers
    REQUIRE(generation
                ->finish([&](uint32_t choice, const Event& event) {
                    CHECK(generation->generated_tokens(choice) >= counts[choice]);
                    counts[choice] = generation->generated_tokens(choice);
                    CHECK(generation->prompt_progress()->computed_tokens == 10);
                    if (const auto* finished = std::get_if<Finished>(&event))
                        ends[choice] = *finished;
                    return SinkResult::proceed;
                })
                .has_value());
    CHECK(counts == std::vector<uint32_t>(3, 80));
    for (uint32_t choice = 0; choice < 3; ++choice) {
        Request alone = request;
        alone.choices = 1;
        alone.seed = 3 + choice;
        CHECK(ends[choice].tokens == run_shifted(model, alone).tokens);
        CHECK(ends[choice].tokens.size() == 80);
    }
    CHECK(ends[0].tokens != ends[1].tokens);
}

TEST_CASE("a constrained answer does not shift") {
    const Model model = chaotic_model();
    Request request = greedy_answer(token_range(5, 15), 100);
    request.context_shift.emplace();
    request.grammar = grammar::Description{.notation = grammar::Notation::regex, .text = "[a-z ]+"};
    const Finished finished = run_shifted(model, request);
    CHECK((finished.context_shifts == 0 && finished.tokens.size() <= shifted_context - 10));
}
