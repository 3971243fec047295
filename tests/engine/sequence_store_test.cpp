#include "core/engine/sequence_store.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

namespace etna::test {
namespace {

using engine::Backpressure;
using engine::Sequence;
using engine::SequenceState;

/// Number of leading tokens of a prompt that are cached.
uint32_t cached_tokens(SchedulerParts& parts, uint32_t prompt_tokens) {
    Sequence& probe = parts.add(plain_request(prompt_tokens));
    const uint32_t cached =
        parts.cache.find(probe.held, probe.content(), prompt_tokens, engine::PartialPages::skip);
    parts.store.retire(probe, nullptr);
    return cached;
}

TEST_CASE("a preempted sequence waits without pages, and its computed ones are found again") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_prompt(plain_request(12), 8);
    parts.store.preempt(sequence);
    CHECK(sequence.state == SequenceState::waiting);
    CHECK(sequence.computed_tokens == 0);
    CHECK(sequence.held.groups[0].empty());
    CHECK(parts.admission.running().empty());
    CHECK(parts.admission.waiting().contains(sequence));
    CHECK(parts.store.preemptions() == 1);
    CHECK(cached_tokens(parts, 12) == 8);
    CHECK(parts.store.verify());
}

TEST_CASE("pages of a sequence that failed by its own fault are found again") {
    SchedulerParts parts;
    const Error own_fault{ErrorKind::invalid_argument, "no token is possible"};
    parts.store.retire(parts.add_prompt(plain_request(12), 12), &own_fault);
    CHECK(cached_tokens(parts, 12) == 12);
}

TEST_CASE("pages that an internal error may have broken cannot be found") {
    SchedulerParts parts;
    const Error internal{ErrorKind::internal, "not numbers"};
    Sequence& sequence = parts.add_prompt(plain_request(12), 12);
    parts.store.publish_running();
    REQUIRE(cached_tokens(parts, 12) == 12);
    parts.store.retire(sequence, &internal);
    CHECK(cached_tokens(parts, 12) == 0);
}

TEST_CASE("a fork runs on shared pages while capacity is left, and waits without pages otherwise") {
    engine::Limits limits = fake_limits();
    limits.sequences_max = 2;
    SchedulerParts parts(limits);
    Sequence& parent = parts.add_decoding(plain_request(6));
    const Sequence& running = parts.store.fork(parent, 1);
    CHECK(running.state == SequenceState::decode);
    CHECK(running.held.groups[0] == parent.held.groups[0]);
    CHECK(running.request == parent.request); // not a copy
    const Sequence& waiting = parts.store.fork(parent, 2);
    CHECK(waiting.state == SequenceState::waiting);
    CHECK(waiting.held.groups[0].empty());
    CHECK(parts.store.verify());
    parts.store.retire_all(parent.id.request, nullptr);
    CHECK(parts.store.all().empty());
    CHECK(parts.cache.pools()[0].available() == 128);
}

TEST_CASE("only an idle sequence is preempted as such: one that is paused and has no samples pending") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    CHECK(!parts.store.preempt_idle());
    parts.store.set_backpressure(sequence.id.request, Backpressure::on);
    sequence.pending_samples = 1;
    CHECK(!parts.store.preempt_idle());
    sequence.pending_samples = 0;
    CHECK(parts.store.preempt_idle());
    CHECK(sequence.state == SequenceState::waiting);
}

TEST_CASE("backpressure applies to all sequences of the request, and to no other") {
    SchedulerParts parts;
    Sequence& parent = parts.add_decoding(plain_request(3));
    const Sequence& child = parts.store.fork(parent, 1);
    const Sequence& other = parts.add(plain_request(3));
    parts.store.set_backpressure(parent.id.request, Backpressure::on);
    CHECK(parent.backpressure == Backpressure::on);
    CHECK(child.backpressure == Backpressure::on);
    CHECK(other.backpressure == Backpressure::off);
}

TEST_CASE("verify() reports a sequence that waits with pages, or has computed more than it knows") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    REQUIRE(parts.store.verify());
    sequence.state = SequenceState::waiting;
    CHECK(!parts.store.verify());
    sequence.state = SequenceState::decode;
    sequence.computed_tokens = 4;
    CHECK(!parts.store.verify());
}

} // namespace
} // namespace etna::test
