#include "core/engine/prefill_planner.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <utility>

namespace etna::test {
namespace {

using engine::Batch;
using engine::FinishReason;
using engine::Sequence;
using engine::SequenceState;

struct Prefill : SchedulerParts {
    using SchedulerParts::SchedulerParts;

    const Batch& plan() {
        builder.begin(0);
        planner.plan(updates, now);
        admission.end_batch();
        cache.end_batch();
        return builder.finish();
    }

    engine::PrefillPlanner planner{limits, admission, cache, store, builder, finisher};
};

engine::Request prompt_of(engine::ClientId client, uint32_t prompt_tokens, TokenId first) {
    engine::Request request = plain_request(prompt_tokens, first);
    request.client = client;
    return request;
}

TEST_CASE("a prompt that takes several batches leaves half of the rows to those after it") {
    Prefill parts;
    parts.add(plain_request(100, 1));
    parts.add(plain_request(100, 2));
    const Batch& batch = parts.plan();
    REQUIRE(batch.rows.size() == parts.limits.batch_rows_max);
    CHECK(rows_of(batch, 0) == 8);
    CHECK(rows_of(batch, 1) == 8);
}

TEST_CASE("a long prompt leaves no more rows than those after it can use") {
    Prefill parts;
    Sequence& large = parts.add(plain_request(100, 1));
    Sequence& small = parts.add(plain_request(3, 2));
    const Batch& batch = parts.plan();
    CHECK(rows_of(batch, 0) == 13);
    CHECK(rows_of(batch, 1) == 3);
    CHECK(large.state == SequenceState::prefill);
    CHECK(small.state == SequenceState::decode);
    CHECK(parts.plan().rows.size() == 16); // alone, it gets all
}

TEST_CASE("prompts take no more rows than the limit for prefill") {
    Prefill parts;
    parts.add(plain_request(100));
    parts.planner.set_rows_max(5);
    CHECK(parts.plan().rows.size() == 5);
}

TEST_CASE("a waiting request of a client that was served less comes before running prompts") {
    Prefill parts;
    parts.add_prompt(prompt_of(1, 100, 1), 0);
    parts.add(prompt_of(2, 3, 2));
    parts.admission.charge(1, 50);
    parts.admission.end_batch();
    const Batch& batch = parts.plan();
    REQUIRE(batch.sequences.size() == 2);
    CHECK(rows_of(batch, 0) == 3);
    CHECK(rows_of(batch, 1) == 13);
}

TEST_CASE("a request is admitted once pages for its known tokens are available") {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = 10}};
    Prefill parts(limits);
    Sequence& first = parts.add_prompt(plain_request(24, 1), 0);
    Sequence& next = parts.add(plain_request(15, 30));
    parts.plan();
    CHECK(next.state == SequenceState::waiting); // 4 pages are free, and one is left for the running sequence
    parts.store.retire(first, nullptr);
    parts.plan();
    CHECK(next.state == SequenceState::decode);
}

TEST_CASE("a request that needs more pages than exist ends with length") {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = 2}};
    Prefill parts(limits);
    parts.add(plain_request(8)).append(60); // it has grown, and was preempted
    Sequence& fits = parts.add(plain_request(8, 30));
    CHECK(parts.plan().rows.size() == 8);
    REQUIRE(ends_in(parts.updates).size() == 1);
    CHECK(ends_in(parts.updates)[0].reason == FinishReason::length);
    CHECK(fits.state == SequenceState::decode);
}

TEST_CASE("a prompt starts after its cached prefix, and computes at least one row") {
    Prefill parts;
    parts.add(plain_request(8));
    parts.plan();
    parts.store.publish_running();
    Sequence& longer = parts.add(plain_request(10));
    CHECK(parts.plan().rows.size() == 2);
    CHECK(longer.cached_tokens == 8);
    Sequence& same = parts.add(plain_request(8));
    CHECK(parts.plan().rows.size() == 1);
    CHECK(same.cached_tokens == 7);
}

TEST_CASE("a scored prompt takes half of the outputs") {
    Prefill parts;
    engine::Request request = plain_request(10);
    request.prompt_candidates = 0;
    parts.add(request);
    CHECK(parts.plan().rows.size() == parts.limits.output_rows_max / 2);
}

TEST_CASE("a prompt without room for its output stops before its last row") {
    engine::Limits limits = fake_limits();
    limits.slots = 2;
    Prefill parts(limits);
    Sequence& prompt = parts.add_prompt(plain_request(5), 0);
    Sequence& other = parts.add_decoding(plain_request(3, 30));
    for (uint32_t i = 0; i < 2; ++i) {
        parts.builder.begin(0);
        parts.builder.append_rows(other, 1);
        parts.builder.finish(); // holds both slots
    }
    CHECK(parts.plan().rows.size() == 4);
    CHECK(prompt.state == SequenceState::prefill);
    REQUIRE(parts.builder.take_step(1));
    CHECK(parts.plan().rows.size() == 1);
    CHECK(prompt.state == SequenceState::decode);
}

TEST_CASE("a prompt that finds no pages for its window preempts later prompts") {
    engine::Limits limits = fake_limits();
    limits.groups = {{.page_count = 100},
                     {.kind = engine::CacheKind::sliding_window, .window_tokens = 4, .page_count = 8}};
    Prefill parts(limits);
    Sequence& first = parts.add_prompt(plain_request(60, 1), 16);
    Sequence& second = parts.add_prompt(plain_request(20, 2), 16);
    REQUIRE(parts.cache.pools()[1].available() == 0);
    CHECK(parts.plan().rows.size() == 12);
    CHECK(first.computed_tokens == 28);
    CHECK(second.state == SequenceState::waiting); // it is not admitted again in the same batch
    CHECK(parts.store.verify());
}

TEST_CASE("rebalancing preempts one sequence of a client that runs two more, if capacity is short") {
    engine::Limits limits = fake_limits();
    limits.sequences_max = 2;
    Prefill parts(limits);
    Sequence& older = parts.add_decoding(prompt_of(1, 3, 10));
    Sequence& younger = parts.add_decoding(prompt_of(1, 3, 20));
    parts.planner.rebalance();
    CHECK(parts.store.preemptions() == 0); // no one waits
    parts.add(prompt_of(2, 3, 30));
    parts.planner.rebalance();
    parts.planner.rebalance();
    CHECK(parts.store.preemptions() == 1);
    CHECK(older.state == SequenceState::decode);
    CHECK(younger.state == SequenceState::waiting);
}

} // namespace
} // namespace etna::test
