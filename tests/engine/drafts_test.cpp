// Where drafts come from, and when they are given up.

#include "core/engine/draft_gain.hpp"
#include "core/engine/draft_lookup.hpp"
#include "core/engine/draft_meter.hpp"
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
using engine::DraftGain;
using engine::Drafting;
using engine::DraftLookup;
using Tokens = std::vector<TokenId>;

using engine::DraftTexts;
using engine::Speculation;

/// As the engine has it of a request for a prompt.
Speculation with_texts(const Speculation& wish, const Tokens& prompt = {1}) {
    std::vector<engine::Request> requests = {{.prompt = prompt, .speculation = wish}};
    make_draft_texts(requests, 1000);
    return *requests.front().speculation;
}

/// What followed the last of the longest runs that the text ends with, by trying all.
Tokens followers(const Tokens& text, uint32_t longest, uint32_t shortest, uint32_t most) {
    for (std::size_t length = std::min<std::size_t>(longest, text.size()); length >= shortest; --length) {
        for (std::size_t behind = text.size() - 1; behind >= length; --behind) {
            const auto end = text.begin() + static_cast<std::ptrdiff_t>(behind);
            if (!std::equal(end - static_cast<std::ptrdiff_t>(length), end,
                            text.end() - static_cast<std::ptrdiff_t>(length)))
                continue;
            Tokens drafts(end, text.end()); // and round again
            for (std::size_t i = 0; drafts.size() < most; ++i)
                drafts.push_back(drafts[i]);
            drafts.resize(most);
            return drafts;
        }
    }
    return {};
}

DraftLookup lookup_of(const Tokens& prompt, uint32_t ngram_max, const Tokens& prediction = {}) {
    return DraftLookup(std::make_shared<const DraftTexts>(prompt, prediction, ngram_max));
}

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
    Drafting drafting(with_texts({.tokens_max = tokens_max, .lookup_ngram_max = 3, .uses_model = true}));
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
        if (drafting.in_flight == 0) {
            drafting.skip();
        } else {
            drafting.settle(costs);
        }
    }
    return spent;
}

} // namespace

TEST_CASE("a lookup drafts what followed the longest run that the text ends with") {
    DraftLookup lookup = lookup_of({1, 2, 3}, 3);
    CHECK(lookup.draft(Tokens{1, 2, 3}, 4).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 2) == Tokens{3, 9});
    // "2 3" stands twice; the later one counts, and "9 2 3" before it does not.
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 2) == Tokens{9, 2});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3}, 3) == Tokens{9, 2, 3});
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3, 7, 1, 2, 3, 8}, 3).empty());
}

TEST_CASE("short runs say nothing where longer ones are asked for") {
    DraftLookup lookup = lookup_of({1, 2, 3}, 3);
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2}, 2, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 3, 9, 2, 3}, 1, 2) == Tokens{9});
}

TEST_CASE("a run that reaches the end goes round") {
    DraftLookup lookup = lookup_of({5}, 2);
    CHECK(lookup.draft(Tokens{5, 6, 5, 6, 5}, 5) == Tokens{6, 5, 6, 5, 6});
    DraftLookup same = lookup_of({4}, 2);
    CHECK(same.draft(Tokens{4, 4}, 3) == Tokens{4, 4, 4});
}

TEST_CASE("a prediction is followed from its beginning, and found again after a change") {
    DraftLookup lookup = lookup_of({1, 2}, 0, {10, 11, 12, 13, 14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2}, 3) == Tokens{10, 11, 12});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11}, 2) == Tokens{12, 13});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99}, 2).empty());
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13}, 4) == Tokens{14, 15, 16});
    CHECK(lookup.draft(Tokens{1, 2, 10, 11, 99, 13, 14, 15, 16}, 4).empty());
}

TEST_CASE("a prediction comes before what the text itself suggests") {
    DraftLookup lookup = lookup_of({1, 7, 1, 7}, 2, {7, 8});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7}, 1) == Tokens{7});
    CHECK(lookup.draft(Tokens{1, 7, 1, 7, 1}, 1) == Tokens{7}); // off its track: the text's
}

TEST_CASE("runs are found in prompt and answer as in one text, whatever their length") {
    std::mt19937 random(1);
    const auto pick = [&](uint32_t least, uint32_t most) {
        return least + static_cast<uint32_t>(random() % (most - least + 1));
    };
    for (uint32_t round = 0; round < 300; ++round) {
        INFO("round " << round);
        const uint32_t vocabulary = pick(1, 6);
        Tokens text;
        for (uint32_t i = pick(1, 60); i > 0; --i)
            text.push_back(pick(1, vocabulary));
        const uint32_t longest = pick(1, engine::ngram_max);
        const uint32_t shortest = pick(1, 3);
        DraftLookup lookup = lookup_of(text, longest);
        for (uint32_t step = 0; step < 40; ++step) {
            CHECK(lookup.draft(text, 4, shortest) == followers(text, longest, shortest, 4));
            for (uint32_t i = pick(1, 3); i > 0; --i)
                text.push_back(pick(1, vocabulary));
        }
    }
}

TEST_CASE("a prediction is found again behind the last of the longest runs") {
    DraftLookup lookup = lookup_of({9}, 0, {1, 2, 3, 4, 2, 3, 5, 3, 6});
    CHECK(lookup.draft(Tokens{9, 7, 3}, 1) == Tokens{6});
    CHECK(lookup.draft(Tokens{9, 7, 3, 8, 2, 3}, 1) == Tokens{5});
    CHECK(lookup.draft(Tokens{9, 7, 3, 8, 2, 3, 8, 1, 2, 3}, 1) == Tokens{4});
}

TEST_CASE("what is looked up is made once for all choices of a request, and is no longer than a context") {
    const Speculation wish = {.lookup_ngram_max = 3, .prediction = Tokens(1'000'000, 7)};
    std::vector<engine::Request> requests(5, {.prompt = {1, 2, 3}, .speculation = wish});
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
    std::vector<engine::Request> again = requests; // as it came back: nothing is lost of it
    make_draft_texts(again, 100);
    CHECK(again[0].speculation->texts == texts(0));
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
                    if (length == 0) {
                        gain.skip();
                    } else {
                        gain.note(length, 0, by_model, {.draft = cost, .row = cost});
                    }
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
    const Drafting lookup(with_texts({.tokens_max = 5, .lookup_ngram_max = 3}));
    CHECK(lookup.model_gain.length() == 0);
    CHECK(lookup.lookup_gain.length() == DraftGain(5).length());
    const Drafting predicted(with_texts({.tokens_max = 5, .prediction = {1, 2}}));
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
        if (length == 0) {
            gain.skip();
        } else {
            gain.note(length, i % 2 == 0 ? 1 : 0, true, {.draft = 0.9F, .row = 0.4F});
        }
    }
    CHECK(drafted < 60);
}

TEST_CASE("costs are told in plain steps, as measured") {
    engine::DraftMeter meter;
    CHECK(meter.costs().draft == Approx(0.2));
    meter.note_step(0, 10);
    meter.note_step(4, 18);
    meter.note_drafts(4, 12);
    CHECK(meter.costs().draft == Approx(0.3));
    CHECK(meter.costs().row == Approx(0.2));
    CHECK(meter.costs().row == Approx(0.2));
}

TEST_CASE("a call of the draft model that took long does not make drafts dear for ever") {
    engine::DraftMeter meter;
    for (int i = 0; i < 5; ++i) {
        meter.note_step(0, 10);
        meter.note_step(4, 18);
        meter.note_drafts(4, 12);
    }
    meter.note_drafts(2, 10'000);
    meter.note_step(0, 0.001); // its result was fetched late
    meter.note_step(4, 10'000);
    CHECK(meter.costs().draft == Approx(0.3));
    CHECK(meter.costs().row == Approx(0.2));
    for (int i = 0; i < 15; ++i) // what lasts is believed
        meter.note_drafts(4, 24);
    CHECK(meter.costs().draft == Approx(0.6));
}

} // namespace etna::test
