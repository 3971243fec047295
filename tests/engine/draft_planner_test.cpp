#include "core/engine/draft_planner.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <vector>

namespace etna::test {
namespace {

using engine::Backpressure;
using engine::DraftRequest;
using engine::PendingOutput;
using engine::Sequence;

engine::Request drafted_request(uint32_t prompt_tokens = 3, TokenId first = 1) {
    engine::Request request = plain_request(prompt_tokens, first);
    request.speculation = {.tokens_max = 5, .uses_model = true};
    return request;
}

engine::Limits roomy_limits() {
    engine::Limits limits = fake_limits();
    limits.output_rows_max = limits.batch_rows_max;
    limits.slots = 32;
    return limits;
}

struct Drafting : SchedulerParts {
    Drafting() : SchedulerParts(roomy_limits()) {}

    /// Schedules the sequence's own row and the rows of `tokens`, and returns the step.
    engine::Step schedule(Sequence& sequence, std::vector<TokenId> tokens, uint32_t spare_rows = 10) {
        sequence.draft_state->drafts = std::move(tokens);
        builder.begin(spare_rows);
        drafts.reserve(sequence);
        builder.append_rows(sequence, 1);
        drafts.append_rows(sequence);
        builder.finish();
        return *builder.take_step(builder.newest_step()->size());
    }
    /// Reads the outputs of a step: `sampled` are the tokens that its rows draw.
    void read(Sequence& sequence, const engine::Step& step, const std::vector<TokenId>& sampled) {
        for (std::size_t i = 0; i < step.size(); ++i) {
            accepted.push_back(drafts.accept(sequence, step[i]));
            if (accepted.back()) {
                sequence.pending_samples -= step[i].draft ? 0 : 1;
                sequence.append(sampled[i]);
            }
            drafts.resolve(step, i);
        }
    }

    std::vector<bool> accepted;
};

TEST_CASE("the first mismatch rejects all drafts after it") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    const engine::Step step = parts.schedule(sequence, {10, 11, 12, 13});
    REQUIRE(step.size() == 5);
    CHECK(sequence.computed_tokens == 7);
    CHECK(sequence.drafts_in_flight() == 4);
    CHECK(!sequence.slot);
    parts.read(sequence, step, {10, 11, 20, 13, 14}); // 13 agrees, but its row attended to a wrong token
    CHECK(parts.accepted == std::vector<bool>{true, true, true, false, false});
    CHECK(sequence.tokens == std::vector<TokenId>{1, 2, 3, 10, 11, 20});
    CHECK(sequence.computed_tokens == 5); // the row of 20 is next
    CHECK(sequence.drafts_in_flight() == 0);
    CHECK(sequence.draft_state->accepted == 2);
    CHECK(sequence.draft_state->rejected == 2);
    CHECK(sequence.draft_state->accepted_positions == std::vector<uint32_t>{0, 1});
}

TEST_CASE("a draft after a mismatch is rejected even if the token forced at its position equals it") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    const engine::Step step = parts.schedule(sequence, {10, 11});
    sequence.pending_samples = 0;
    sequence.append(20); // sampled
    sequence.append(11); // forced
    CHECK(!parts.drafts.accept(sequence, step[1]));
    CHECK(!parts.drafts.accept(sequence, step[2]));
    parts.drafts.resolve(step, 2);
    CHECK(sequence.computed_tokens == 3); // the row of 11 attended to 10
    CHECK(sequence.draft_state->accepted == 0);
}

TEST_CASE("if all drafts are accepted, the last row's sample follows them") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    parts.read(sequence, parts.schedule(sequence, {10, 11}), {10, 11, 12});
    CHECK(sequence.tokens == std::vector<TokenId>{1, 2, 3, 10, 11, 12});
    CHECK(sequence.computed_tokens == 5);
    CHECK(sequence.draft_state->rejected == 0);
}

TEST_CASE("drafts take no more than the spare rows") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    CHECK(parts.schedule(sequence, {10, 11, 12, 13}, 2).size() == 3);
    CHECK(parts.builder.spare_rows() == 0);
}

TEST_CASE("drafts leave a slot to every running sequence") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    Sequence& other = parts.add_decoding(plain_request(3, 30));
    for (std::size_t i = parts.builder.free_slots(); i > 4; --i) {
        parts.builder.begin(0);
        parts.builder.append_rows(other, 1);
        parts.builder.finish();
    }
    sequence.draft_state->drafts = {10, 11, 12};
    parts.builder.begin(10);
    parts.drafts.reserve(sequence);
    CHECK(sequence.draft_state->drafts.size() == 2);
}

TEST_CASE("drafts that find no pages are dropped, and preempt no sequence") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request(4));
    Sequence& large = parts.add_prompt(plain_request(200, 30), 0);
    Sequence& other = parts.add_prompt(plain_request(200, 40), 0);
    Sequence& last = parts.add_prompt(plain_request(105, 50), 0);
    REQUIRE(parts.cache.pools()[0].available() == 0);
    CHECK(parts.schedule(sequence, {10, 11}).size() == 1);
    for (Sequence* one : {&large, &other, &last})
        CHECK(one->state == engine::SequenceState::prefill);
}

TEST_CASE("drafts are requested for sequences whose tokens are all known") {
    Drafting parts;
    Sequence& ready = parts.add_decoding(drafted_request());
    Sequence& paused = parts.add_decoding(drafted_request());
    Sequence& pending = parts.add_decoding(drafted_request());
    parts.add_prompt(drafted_request(), 0);
    paused.backpressure = Backpressure::on;
    pending.pending_samples = 1;
    const std::vector<DraftRequest> requests = parts.drafts.draft();
    REQUIRE(requests.size() == 1);
    CHECK(requests[0].request == ready.id.request);
    CHECK(requests[0].tokens_max > 0);
    CHECK(requests[0].tokens_max <= 5);
    CHECK(!requests[0].is_caught_up);
    parts.drafts.set_drafts(requests, {{.tokens = {10, parts.limits.vocabulary, 11}, .is_caught_up = true}});
    CHECK(ready.draft_state->drafts == std::vector<TokenId>{10}); // the others are foreign, or follow one
    CHECK(parts.drafts.draft()[0].is_caught_up);
}

TEST_CASE("no drafts are requested or waited for after the model was dropped") {
    Drafting parts;
    Sequence& sequence = parts.add_decoding(drafted_request());
    CHECK(parts.drafts.needs_all_tokens(sequence));
    parts.drafts.drop_model();
    CHECK(!parts.drafts.has_model());
    CHECK(parts.drafts.draft().empty());
    CHECK(!parts.drafts.needs_all_tokens(sequence));
}

} // namespace
} // namespace etna::test
