// Where drafts come from, and when they are given up.

#include "core/engine/draft_gain.hpp"
#include "core/engine/draft_lookup.hpp"
#include "core/engine/draft_meter.hpp"
#include "core/engine/sequence.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace etna::test {
namespace {

using engine::DraftCosts;
using engine::DraftGain;
using engine::Drafting;
using engine::DraftLookup;
using Tokens = std::vector<TokenId>;

/// Whose drafts are right, of a sequence that has both sources.
struct Right {
    bool lookup = false;
    bool model = false;
};

/// What a sequence's drafts came to.
struct Spent {
    uint32_t tokens = 0;
    uint32_t accepted = 0;
    uint32_t wasted = 0; ///< rejected rows, and passes of the draft model for them
};

/// So many tokens of a sequence, of which lookup has a candidate for each `every`-th step.
Spent spend(uint32_t tokens, uint32_t tokens_max, const DraftCosts& costs, Right right, uint32_t every) {
    Drafting drafting({.tokens_max = tokens_max, .lookup_ngram_max = 3, .uses_model = true});
    Spent spent;
    for (uint32_t step = 0; spent.tokens < tokens; ++step) {
        const uint32_t looked_up = step % every == 0 ? drafting.lookup_gain.length() : 0;
        drafting.by_model = looked_up == 0;
        drafting.in_flight = drafting.by_model ? drafting.model_gain.length() : looked_up;
        const bool is_right = drafting.by_model ? right.model : right.lookup;
        drafting.step_accepted = is_right ? drafting.in_flight : 0;
        spent.tokens += drafting.step_accepted + 1;
        spent.accepted += drafting.step_accepted;
        spent.wasted += is_right ? 0 : drafting.in_flight * (drafting.by_model ? 2 : 1);
        if (drafting.in_flight == 0)
            drafting.skip();
        else
            drafting.settle(costs);
    }
    return spent;
}

} // namespace

TEST_CASE("a lookup drafts what followed the longest run that the text ends with") {
    DraftLookup lookup(3, {});
    CHECK(lookup.draft(Tokens{1, 2, 3}, 3, 4).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 3, 2) == Tokens{3, 9});
    // "2 3" stands twice; the later one counts, and "9 2 3" before it does not.
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 3, 2) == Tokens{9, 2});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 3, 3) == Tokens{9, 2, 3});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3, 8}, 3, 3).empty());
}

TEST_CASE("short runs say nothing where longer ones are asked for") {
    DraftLookup lookup(3, {});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 3, 2, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 3, 1, 2) == Tokens{9});
}

TEST_CASE("a run that reaches the end goes round") {
    DraftLookup lookup(2, {});
    CHECK(lookup.draft(Tokens{5, 6, 5, 6, 5}, 1, 5) == Tokens{6, 5, 6, 5, 6});
    DraftLookup same(2, {});
    CHECK(same.draft(Tokens{4, 4}, 1, 3) == Tokens{4, 4, 4});
}

TEST_CASE("a prediction is followed from its beginning, and found again after a change") {
    DraftLookup lookup(0, {10, 11, 12, 13, 14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2}, 2, 3) == Tokens{10, 11, 12});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11}, 2, 2) == Tokens{12, 13});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99}, 2, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13}, 2, 4) == Tokens{14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13, 14, 15, 16}, 2, 4).empty());
}

TEST_CASE("a prediction comes before what the text itself suggests") {
    DraftLookup lookup(2, {7, 8});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7}, 4, 1) == Tokens{7});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7, 1}, 4, 1) == Tokens{7}); // off its track: the text's
}

TEST_CASE("drafts that are always wrong cost at most 3 percent of 512 tokens") {
    for (const bool by_model : {false, true}) {
        for (const float cost : {0.0F, 0.05F, 0.3F, 1.0F}) {
            for (const uint32_t tokens_max : {1U, 2U, 5U, 8U, 32U}) {
                DraftGain gain(tokens_max);
                uint32_t wasted = 0;
                for (uint32_t token = 0; token < 512; ++token) {
                    const uint32_t length = gain.length();
                    wasted += by_model ? 2 * length : length;
                    if (length == 0)
                        gain.skip();
                    else
                        gain.note(length, 0, by_model, {.draft = cost, .row = cost});
                }
                INFO("by model " << by_model << ", cost " << cost << ", at most " << tokens_max);
                CHECK(wasted > 0);
                CHECK(wasted <= 15); // of 512
            }
        }
    }
}

TEST_CASE("two sources that are always wrong cost no more together than one") {
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
    constexpr uint32_t steps_wasted = 20; // of 1000 tokens, where five drafts of each six tokens may be right
    const Spent by_lookup = spend(1000, 5, costs, {.lookup = true}, 1);
    CHECK(by_lookup.tokens - by_lookup.accepted <= 1000 / 6 + steps_wasted);
    const Spent by_model = spend(1000, 5, costs, {.model = true}, 1);
    CHECK(by_model.tokens - by_model.accepted <= 1000 / 6 + steps_wasted);
    CHECK(by_model.wasted <= 15);
    // Where lookup has nothing for every other step, those are plain ones.
    const Spent sometimes = spend(1000, 5, costs, {.lookup = true}, 2);
    CHECK(sometimes.accepted >= 1000 * 5 / 7 - 5 * steps_wasted);
}

TEST_CASE("a source that a sequence does not have is asked for nothing, and leaves all to the other") {
    const Drafting lookup({.tokens_max = 5, .lookup_ngram_max = 3});
    CHECK(lookup.model_gain.length() == 0);
    CHECK(lookup.lookup_gain.length() == DraftGain(5).length());
    const Drafting predicted({.tokens_max = 5, .prediction = {1, 2}});
    CHECK(predicted.model_gain.length() == 0);
    CHECK(predicted.lookup_gain.length() == DraftGain(5).length());
    const Drafting model({.tokens_max = 5, .uses_model = true});
    CHECK(model.lookup_gain.length() == 0);
    CHECK(model.model_gain.length() == DraftGain(5).length());
    CHECK(Drafting({.tokens_max = 5}).is_paused());
}

TEST_CASE("drafts that are right grow to what was asked for, and never pause") {
    DraftGain gain(5);
    CHECK(gain.length() == 2);
    for (int i = 0; i < 100; ++i) {
        REQUIRE(gain.length() > 0);
        gain.note(gain.length(), gain.length(), true, {.draft = 0.5F, .row = 0.3F});
    }
    CHECK(gain.length() == 5);
    gain.note(5, 2, true, {});
    CHECK(gain.length() == 3); // no more than one beyond what came right
}

TEST_CASE("drafts that cost more than they bring are given up although some are right") {
    DraftGain gain(4);
    uint32_t drafted = 0;
    for (int i = 0; i < 2000; ++i) {
        const uint32_t length = gain.length();
        drafted += length;
        if (length == 0)
            gain.skip();
        else
            gain.note(length, i % 2 == 0 ? 1 : 0, true, {.draft = 0.9F, .row = 0.4F});
    }
    CHECK(drafted < 60);
}

TEST_CASE("costs are told in plain steps, as measured") {
    engine::DraftMeter meter;
    CHECK(meter.costs().draft == Approx(0.2));
    meter.note_step(1, 0, 10);
    meter.note_step(5, 4, 18);
    meter.note_drafts(4, 12);
    CHECK(meter.costs().draft == Approx(0.3));
    CHECK(meter.costs().row == Approx(0.2));
    meter.note_step(0, 0, 1000); // prompts say nothing
    CHECK(meter.costs().row == Approx(0.2));
}

} // namespace etna::test
