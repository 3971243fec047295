#include "core/engine/batch_builder.hpp"
#include "tests/engine/scheduler_parts.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace etna::test {
namespace {

using engine::Batch;
using engine::BatchBuilder;
using engine::OutputKind;
using engine::Row;
using engine::RowInput;
using engine::RowKind;
using engine::Sequence;

TEST_CASE("rows of known tokens read them, and the last one samples into a slot") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_prompt(plain_request(5, 20), 2);
    parts.builder.append_rows(sequence, 3);
    const Batch& batch = parts.builder.finish();
    REQUIRE(batch.rows.size() == 3);
    for (uint32_t i = 0; i < 3; ++i) {
        const Row& row = batch.rows[i];
        CHECK(row.position == 2 + i);
        CHECK(row.attend_end == row.position + 1);
        CHECK(row.kind == RowKind::prefill);
        CHECK(row.input == RowInput::token);
        CHECK(row.value == 22 + i);
        CHECK(row.output_kind == (i == 2 ? OutputKind::sampled : OutputKind::none));
    }
    REQUIRE(batch.sequences.size() == 1);
    CHECK(batch.sequences[0].pages[0].data() == sequence.held.groups[0].data());
    CHECK(sequence.computed_tokens == 5);
    CHECK(sequence.pending_samples == 1);
    CHECK(sequence.slot == batch.rows[2].output_slot);
}

TEST_CASE(
    "a row whose token is not read yet reads the slot of the previous batch, and samples into another") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    parts.builder.append_rows(sequence, 1);
    const uint32_t slot = parts.builder.finish().rows[0].output_slot;
    parts.builder.begin(0);
    parts.builder.append_rows(sequence, 1);
    const Row& row = parts.builder.finish().rows[0];
    CHECK(row.position == 3);
    CHECK(row.kind == RowKind::decode);
    CHECK(row.input == RowInput::slot);
    CHECK(row.value == slot);
    CHECK(row.output_slot != slot);
    CHECK(sequence.pending_samples == 2);
}

TEST_CASE("a slot is free again once the outputs of its batch have arrived") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    const std::size_t slots = parts.builder.free_slots();
    parts.builder.append_rows(sequence, 1);
    parts.builder.finish();
    CHECK(parts.builder.free_slots() == slots - 1);
    REQUIRE(parts.builder.verify());
    const auto refused = parts.builder.take_step(2);
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::internal);
    const auto step = parts.builder.take_step(1);
    REQUIRE(step);
    CHECK(step->front().sequence == sequence.id);
    CHECK(step->front().position == 2);
    CHECK(parts.builder.free_slots() == slots);
    CHECK(parts.builder.verify());
    CHECK(!parts.builder.take_step(1)); // none is in flight
}

TEST_CASE("rows of drafts read the drafts and sample into separate slots") {
    SchedulerParts parts;
    Sequence& sequence = parts.add_decoding(plain_request(3));
    parts.builder.append_rows(sequence, 1);
    parts.builder.append_drafts(sequence, std::vector<TokenId>{40, 41});
    const Batch& batch = parts.builder.finish();
    REQUIRE(batch.rows.size() == 3);
    CHECK(batch.sequences.size() == 1);
    for (uint32_t i = 1; i < 3; ++i) {
        const Row& row = batch.rows[i];
        CHECK(row.input == RowInput::token);
        CHECK(row.value == 39 + i);
        CHECK(row.position == 2 + i);
        CHECK(row.kind == RowKind::decode);
        CHECK(row.sequence == 0);
        CHECK(row.output_kind == OutputKind::sampled);
        CHECK(row.output_slot != batch.rows[i - 1].output_slot);
    }
    CHECK(sequence.pending_samples == 1); // drafts may be wrong: only the first sample is certain
    CHECK(sequence.computed_tokens == 5);
    const auto step = parts.builder.take_step(3);
    REQUIRE(step);
    CHECK(!(*step)[0].draft);
    CHECK((*step)[2].draft == TokenId{41});
    CHECK((*step)[2].position == 4);
}

TEST_CASE("rows of a scored prompt return all logits, once") {
    SchedulerParts parts;
    engine::Request request = plain_request(4);
    request.prompt_candidates = 2;
    Sequence& sequence = parts.add_prompt(request, 0);
    parts.builder.append_rows(sequence, 4);
    const Batch& batch = parts.builder.finish();
    for (uint32_t i = 0; i < 3; ++i) {
        CHECK(batch.rows[i].output_kind == OutputKind::logits);
        CHECK(batch.rows[i].candidates == 2);
    }
    CHECK(batch.rows[3].output_kind == OutputKind::sampled);
    CHECK(parts.builder.newest_step()->size() == 4);
    sequence.computed_tokens = 0; // recomputed
    parts.builder.begin(0);
    parts.builder.append_rows(sequence, 3);
    for (const Row& row : parts.builder.finish().rows)
        CHECK(row.output_kind == OutputKind::none);
}

TEST_CASE("a batch without rows is not in flight") {
    SchedulerParts parts;
    CHECK(parts.builder.finish().rows.empty());
    CHECK(parts.builder.newest_step() == nullptr);
}

TEST_CASE("a batch has no output for a sequence once its outputs or the slots it needs are used up") {
    engine::Limits limits = fake_limits();
    limits.slots = 2;
    limits.output_rows_max = 3;
    SchedulerParts parts(limits);
    engine::Request by_host = plain_request(3);
    by_host.sampling = {.temperature = 1, .top_k = 0, .repetition_penalty = 1.1F};
    Sequence& host = parts.add_decoding(by_host);
    Sequence& first = parts.add_decoding(plain_request(3, 10));
    Sequence& second = parts.add_decoding(plain_request(3, 20));
    parts.builder.append_rows(first, 1);
    CHECK(parts.builder.has_output_for(second));
    parts.builder.append_rows(second, 1);
    CHECK(!parts.builder.has_output_for(second)); // no slot
    CHECK(parts.builder.has_output_for(host));
    parts.builder.append_rows(host, 1);
    CHECK(parts.builder.outputs_left() == 0);
    CHECK(!parts.builder.has_output_for(host));
}

} // namespace
} // namespace etna::test
