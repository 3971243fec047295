// Sources of drafts, and when they pause.

#include "core/engine/draft_costs.hpp"
#include "core/engine/prompt_lookup.hpp"
#include "core/engine/request.hpp"
#include "core/engine/sequence.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace etna::test {
namespace {

using engine::DraftCosts;
using engine::DraftLengthControl;
using engine::DraftSource;
using engine::DraftState;
using engine::PromptLookup;
using Tokens = std::vector<TokenId>;

using engine::DraftTexts;
using engine::Speculation;

/// Returns the speculation of a request after make_draft_texts().
Speculation with_texts(const Speculation& options, const Tokens& prompt = {1}) {
    std::vector<engine::Request> requests = {{.prompt = prompt, .speculation = options}};
    make_draft_texts(requests, 1000);
    return *requests.front().speculation;
}

/// Returns the tokens after the last of the longest matches of the text's end, by exhaustive search.
Tokens followers(const Tokens& text, uint32_t length_max, uint32_t length_min, uint32_t limit) {
    for (std::size_t length = std::min<std::size_t>(length_max, text.size()); length >= length_min;
         --length) {
        for (std::size_t end_position = text.size() - 1; end_position >= length; --end_position) {
            const auto end = text.begin() + static_cast<std::ptrdiff_t>(end_position);
            if (!std::equal(end - static_cast<std::ptrdiff_t>(length), end,
                            text.end() - static_cast<std::ptrdiff_t>(length)))
                continue;
            Tokens drafts(end, text.end()); // wraps around
            for (std::size_t i = 0; drafts.size() < limit; ++i)
                drafts.push_back(drafts[i]);
            drafts.resize(limit);
            return drafts;
        }
    }
    return {};
}

PromptLookup lookup_of(const Tokens& prompt, uint32_t ngram_max, const Tokens& prediction = {}) {
    return PromptLookup(std::make_shared<const DraftTexts>(prompt, prediction, ngram_max));
}

/// The sources whose drafts are right, of a sequence that has both.
struct Right {
    bool lookup = false;
    bool model = false;
};

/// Totals of a sequence's drafts.
struct Spent {
    uint32_t tokens = 0;
    uint32_t accepted = 0;
    uint32_t wasted = 0; ///< rejected rows, and passes of the draft model for them
};

/// Generates `tokens` tokens of a sequence in which lookup finds a match in each `every`-th step.
Spent spend(uint32_t tokens, uint32_t tokens_max, const DraftCosts& costs, Right right, uint32_t every) {
    DraftState state(with_texts({.tokens_max = tokens_max, .lookup_ngram_max = 3, .uses_model = true}));
    Spent spent;
    for (uint32_t step = 0; spent.tokens < tokens; ++step) {
        const uint32_t looked_up = step % every == 0 ? state.lookup_control.length() : 0;
        const bool by_model = looked_up == 0;
        state.source = by_model ? DraftSource::model : DraftSource::lookup;
        state.in_flight = by_model ? state.model_control.length() : looked_up;
        const bool is_right = by_model ? right.model : right.lookup;
        state.step_accepted = is_right ? state.in_flight : 0;
        spent.tokens += state.step_accepted + 1;
        spent.accepted += state.step_accepted;
        spent.wasted += is_right ? 0 : state.in_flight * (by_model ? 2 : 1);
        if (state.in_flight == 0) {
            state.skip();
        } else {
            state.finish_step(costs);
        }
    }
    return spent;
}

} // namespace

TEST_CASE("a lookup drafts the tokens after the longest match of the text's end") {
    PromptLookup lookup = lookup_of({1, 2, 3}, 3);
    CHECK(lookup.draft(Tokens{1, 2, 3}, 4).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 2) == Tokens{3, 9});
    // "2 3" occurs twice; the later one is used, and "9 2 3" does not match.
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 2) == Tokens{9, 2});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 3) == Tokens{9, 2, 3});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3, 8}, 3).empty());
}

TEST_CASE("a lookup ignores matches shorter than ngram_min") {
    PromptLookup lookup = lookup_of({1, 2, 3}, 3);
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 2, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 1, 2) == Tokens{9});
}

TEST_CASE("a match that reaches the end of the text wraps around") {
    PromptLookup lookup = lookup_of({5}, 2);
    CHECK(lookup.draft(Tokens{5, 6, 5, 6, 5}, 5) == Tokens{6, 5, 6, 5, 6});
    PromptLookup same = lookup_of({4}, 2);
    CHECK(same.draft(Tokens{4, 4}, 3) == Tokens{4, 4, 4});
}

TEST_CASE("a prediction is followed from its start, and relocated after a mismatch") {
    PromptLookup lookup = lookup_of({1, 2}, 0, {10, 11, 12, 13, 14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2}, 3) == Tokens{10, 11, 12});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11}, 2) == Tokens{12, 13});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99}, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13}, 4) == Tokens{14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13, 14, 15, 16}, 4).empty());
}

TEST_CASE("a prediction takes precedence over a match in the text") {
    PromptLookup lookup = lookup_of({1, 7, 1, 7}, 2, {7, 8});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7}, 1) == Tokens{7});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7, 1}, 1) == Tokens{7}); // after a mismatch, the text is used
}

TEST_CASE("matches of any length are found in prompt and answer as in one text") {
    std::mt19937 random(1);
    const auto pick = [&](uint32_t min, uint32_t max) {
        return min + static_cast<uint32_t>(random() % (max - min + 1));
    };
    for (uint32_t round = 0; round < 300; ++round) {
        INFO("round " << round);
        const uint32_t vocabulary = pick(1, 6);
        Tokens text;
        for (uint32_t i = pick(1, 60); i > 0; --i)
            text.push_back(pick(1, vocabulary));
        const uint32_t length_max = pick(1, engine::ngram_max);
        const uint32_t length_min = pick(1, 3);
        PromptLookup lookup = lookup_of(text, length_max);
        for (uint32_t step = 0; step < 40; ++step) {
            CHECK(lookup.draft(text, 4, length_min) == followers(text, length_max, length_min, 4));
            for (uint32_t i = pick(1, 3); i > 0; --i)
                text.push_back(pick(1, vocabulary));
        }
    }
}

TEST_CASE("a prediction is relocated after the last of the longest matches") {
    PromptLookup lookup = lookup_of({9}, 0, {1, 2, 3, 4, 2, 3, 5, 3, 6});
    CHECK(lookup.draft(Tokens{9, 7, 3}, 1) == Tokens{6});
    CHECK(lookup.draft(Tokens{9, 7, 3, 8, 2, 3}, 1) == Tokens{5});
    CHECK(lookup.draft(Tokens{9, 7, 3, 8, 2, 3, 8, 1, 2, 3}, 1) == Tokens{4});
}

TEST_CASE(
    "the lookup texts are shared by all choices of a request, and a prediction is truncated to the context") {
    const Speculation options = {.lookup_ngram_max = 3, .prediction = Tokens(1'000'000, 7)};
    std::vector<engine::Request> requests(5, {.prompt = {1, 2, 3}, .speculation = options});
    requests[3].prompt = {1, 2, 4};
    requests[4].beams = engine::BeamOptions{};
    make_draft_texts(requests, 100);
    const auto texts = [&](std::size_t i) { return requests[i].speculation->texts; };
    REQUIRE(texts(0) != nullptr);
    CHECK(texts(0)->prediction() == Tokens(100, 7));
    CHECK((texts(1) == texts(0) && texts(2) == texts(0)));
    CHECK(texts(3) != texts(0));
    CHECK(texts(4) == nullptr);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(requests[i].speculation->prediction.capacity() == 0);
    std::vector<engine::Request> again = requests; // as returned
    make_draft_texts(again, 100);
    CHECK(again[0].speculation->texts == texts(0));
}

TEST_CASE("drafts that are always wrong cost at most 3 percent of 512 tokens") {
    for (const DraftSource source : {DraftSource::lookup, DraftSource::model, DraftSource::head}) {
        for (const float cost : {0.0F, 0.05F, 0.3F, 1.0F}) {
            for (const uint32_t tokens_max : {1U, 2U, 5U, 8U, 32U}) {
                DraftLengthControl control(tokens_max);
                uint32_t wasted = 0;
                for (uint32_t token = 0; token < 512; ++token) {
                    const uint32_t length = control.length();
                    wasted += source == DraftSource::lookup ? length : 2 * length;
                    if (length == 0) {
                        control.skip();
                    } else {
                        control.record(length, 0, source, {.draft = cost, .row = cost});
                    }
                }
                INFO("source " << static_cast<int>(source) << ", cost " << cost << ", at most "
                               << tokens_max);
                CHECK(wasted > 0);
                CHECK(wasted <= 15); // of 512
            }
        }
    }
}

TEST_CASE("two sources that are always wrong cost no more than one") {
    for (const float cost : {0.0F, 0.05F, 0.1F, 0.15F, 0.3F, 1.0F}) {
        for (const uint32_t tokens_max : {1U, 2U, 5U, 8U, 32U}) {
            for (const uint32_t every : {1U, 2U, 3U, 7U, 50U, 600U}) {
                INFO("cost " << cost << ", at most " << tokens_max << ", lookup each " << every);
                const Spent spent = spend(512, tokens_max, {.draft = cost, .row = cost}, {}, every);
                CHECK(spent.wasted > 0);
                CHECK(spent.wasted <= 15); // of 512
            }
        }
    }
}

TEST_CASE("a source that is always wrong does not pause one that is right") {
    const DraftCosts costs = {.draft = 0.2F, .row = 0.1F};
    constexpr uint32_t steps_wasted = 20; // of 1000 tokens, of which five in six can be accepted drafts
    const Spent by_lookup = spend(1000, 5, costs, {.lookup = true}, 1);
    CHECK(by_lookup.tokens - by_lookup.accepted <= 1000 / 6 + steps_wasted);
    const Spent by_model = spend(1000, 5, costs, {.model = true}, 1);
    CHECK(by_model.tokens - by_model.accepted <= 1000 / 6 + steps_wasted);
    CHECK(by_model.wasted <= 15);
    // If lookup finds nothing in every other step, those are plain steps.
    const Spent sometimes = spend(1000, 5, costs, {.lookup = true}, 2);
    CHECK(sometimes.accepted >= 1000 * 5 / 7 - 5 * steps_wasted);
}

TEST_CASE("an absent source drafts nothing, and leaves its part of the loss to the other") {
    const DraftState lookup(with_texts({.tokens_max = 5, .lookup_ngram_max = 3}));
    CHECK(lookup.model_control.length() == 0);
    CHECK(lookup.lookup_control.length() == DraftLengthControl(5).length());
    const DraftState predicted(with_texts({.tokens_max = 5, .prediction = {1, 2}}));
    CHECK(predicted.model_control.length() == 0);
    CHECK(predicted.lookup_control.length() == DraftLengthControl(5).length());
    const DraftState model({.tokens_max = 5, .uses_model = true});
    CHECK(model.lookup_control.length() == 0);
    CHECK(model.model_control.length() == DraftLengthControl(5).length());
    const DraftState head({.tokens_max = 5, .uses_head = true});
    CHECK(head.lookup_control.length() == 0);
    CHECK(head.model_control.length() == 0);
    CHECK(head.head_control.length() == 1);
    CHECK(!head.is_paused());
    CHECK(DraftState({.tokens_max = 5}).is_paused());
}

TEST_CASE("accepted drafts grow to tokens_max and never pause") {
    DraftLengthControl control(5);
    CHECK(control.length() == 2);
    for (int i = 0; i < 100; ++i) {
        REQUIRE(control.length() > 0);
        control.record(control.length(), control.length(), DraftSource::model, {.draft = 0.5F, .row = 0.3F});
    }
    CHECK(control.length() == 5);
    control.record(5, 2, DraftSource::model, {});
    CHECK(control.length() == 3); // one more than was accepted
}

TEST_CASE("the source that drafted is recorded, and the others skip the tokens") {
    DraftState state(with_texts({.tokens_max = 5, .lookup_ngram_max = 3, .uses_head = true}));
    CHECK(state.head_control.length() == 1);
    for (int step = 0; step < 10 && state.head_control.length() > 0; ++step) {
        state.source = DraftSource::head;
        state.in_flight = 1;
        state.step_accepted = 0;
        state.finish_step({});
    }
    CHECK(state.head_control.length() == 0);
    CHECK(state.lookup_control.length() > 0);
    constexpr uint32_t pause = 96; // with two sources
    state.source = DraftSource::lookup;
    state.in_flight = state.step_accepted = pause - 1;
    state.finish_step({});
    CHECK(state.head_control.length() == 1);
}

TEST_CASE("drafts pause if they cost more than they save, even if some are accepted") {
    DraftLengthControl control(4);
    uint32_t drafted = 0;
    for (int i = 0; i < 2000; ++i) {
        const uint32_t length = control.length();
        drafted += length;
        if (length == 0) {
            control.skip();
        } else {
            control.record(length, i % 2 == 0 ? 1 : 0, DraftSource::model, {.draft = 0.9F, .row = 0.4F});
        }
    }
    CHECK(drafted < 60);
}

TEST_CASE("draft costs are reported in units of plain decode steps") {
    engine::DraftCostEstimate estimate;
    CHECK(estimate.costs().draft == Approx(0.2));
    estimate.record_step(0, 10);
    estimate.record_step(4, 18);
    estimate.record_drafts(4, 12);
    CHECK(estimate.costs().draft == Approx(0.3));
    CHECK(estimate.costs().row == Approx(0.2));
    CHECK(estimate.costs().row == Approx(0.2));
}

TEST_CASE("one slow call of the draft model does not change the cost of drafts") {
    engine::DraftCostEstimate estimate;
    for (int i = 0; i < 5; ++i) {
        estimate.record_step(0, 10);
        estimate.record_step(4, 18);
        estimate.record_drafts(4, 12);
    }
    estimate.record_drafts(2, 10'000);
    estimate.record_step(0, 0.001); // its result was fetched late
    estimate.record_step(4, 10'000);
    CHECK(estimate.costs().draft == Approx(0.3));
    CHECK(estimate.costs().row == Approx(0.2));
    for (int i = 0; i < 15; ++i) // a lasting change is adopted
        estimate.record_drafts(4, 24);
    CHECK(estimate.costs().draft == Approx(0.6));
}

} // namespace etna::test
