// Where drafts come from, and when they are given up.

#include "core/engine/draft_gain.hpp"
#include "core/engine/draft_lookup.hpp"
#include "core/engine/draft_meter.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace etna::test {
namespace {

using engine::DraftCosts;
using engine::DraftGain;
using engine::DraftLookup;
using Tokens = std::vector<TokenId>;

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
