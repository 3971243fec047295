#include "core/engine/decode_planner.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace etna::test {
namespace {

using engine::Backpressure;
using engine::Batch;
using engine::FinishReason;
using engine::Sequence;
using engine::SequenceState;

struct Decoding : SchedulerParts {
    using SchedulerParts::SchedulerParts;

    const Batch& plan(uint32_t spare_rows = 0) {
        builder.begin(spare_rows);
        planner.plan(updates, now);
        cache.end_batch();
        return builder.finish();
    }

    engine::DecodePlanner planner{admission, cache, store, builder, drafts, finisher};
};

/// Limits with `pages` pages of 4 tokens.
engine::Limits limits_with(uint32_t pages) {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = pages}};
    return limits;
}

TEST_CASE("each decoding sequence gets one row, oldest first; those that are paused get none") {
    Decoding parts;
    parts.add_decoding(plain_request(3, 10));
    Sequence& paused = parts.add_decoding(plain_request(3, 20));
    Sequence& stalled = parts.add_decoding(plain_request(3, 30));
    parts.add_decoding(plain_request(3, 40));
    paused.backpressure = Backpressure::on;
    stalled.constraint_state.waits = true;
    const Batch& batch = parts.plan();
    REQUIRE(batch.rows.size() == 2);
    CHECK(batch.rows[0].value == 12);
    CHECK(batch.rows[1].value == 42);
}

TEST_CASE("a sequence that will reach its maximum length gets no row for its last token") {
    Decoding parts;
    engine::Request request = plain_request(3);
    request.max_tokens = 2;
    parts.add_decoding(request);
    CHECK(parts.plan().rows.size() == 1);
    CHECK(parts.plan().rows.size() == 1);
    CHECK(parts.plan().rows.empty());
}

TEST_CASE("a sequence with drafts waits until its last token was read") {
    Decoding parts;
    engine::Request request = plain_request(3);
    request.speculation = {.tokens_max = 2, .uses_model = true};
    Sequence& sequence = parts.add_decoding(request);
    CHECK(parts.plan().rows.size() == 1);
    CHECK(parts.plan().rows.empty());
    sequence.draft_state->drop_model();
    CHECK(parts.plan().rows.size() == 1);
}

TEST_CASE("tokens that a constraint forced get their rows in one batch, up to the spare rows") {
    Decoding parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    for (TokenId token = 50; token < 54; ++token)
        sequence.append(token);
    CHECK(parts.plan(2).rows.size() == 3);
    CHECK(parts.builder.spare_rows() == 0);
    CHECK(sequence.pending_samples == 0);
    const Batch& batch = parts.plan(5);
    REQUIRE(batch.rows.size() == 2);
    CHECK(batch.rows[1].value == 53);
    CHECK(parts.builder.spare_rows() == 4);
    CHECK(sequence.pending_samples == 1);
}

TEST_CASE("without a free page the youngest sequence of the client that was served most is preempted") {
    Decoding parts(limits_with(3));
    const auto request_of = [](engine::ClientId client, TokenId first) {
        engine::Request request = plain_request(4, first);
        request.client = client;
        return request;
    };
    Sequence& oldest = parts.add_decoding(request_of(1, 10));
    Sequence& victim = parts.add_decoding(request_of(2, 20));
    Sequence& youngest = parts.add_decoding(request_of(1, 30));
    parts.admission.charge(2, 100);
    parts.admission.end_batch();
    CHECK(parts.plan().rows.size() == 3);
    for (Sequence* one : {&oldest, &victim, &youngest}) {
        one->append(60);
        --one->pending_samples;
    }
    const Batch& batch = parts.plan();
    CHECK(batch.rows.size() == 1);
    CHECK(victim.state == SequenceState::waiting);
    CHECK(victim.held.groups[0].empty());
    CHECK(youngest.state == SequenceState::waiting); // a second page was needed for itself
    CHECK(oldest.state == SequenceState::decode);
    CHECK(parts.store.preemptions() == 2);
    CHECK(parts.store.verify());
}

TEST_CASE("the last running sequence ends with length once it has used up the memory") {
    Decoding parts(limits_with(1));
    Sequence& sequence = parts.add_decoding(plain_request(4));
    CHECK(parts.plan().rows.size() == 1);
    CHECK(parts.plan().rows.empty());
    CHECK(parts.updates.empty()); // its last token is still to be read
    CHECK(sequence.length_max == 5);
    --sequence.pending_samples;
    sequence.append(60);
    sequence.length_max = 20;
    CHECK(parts.plan().rows.empty());
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::length);
    CHECK(parts.store.all().empty());
}

} // namespace
} // namespace etna::test
