#include "tests/support/catch.hpp"
#include "tests/support/fake_executor.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace etna::test {
namespace {

using engine::Batch;
using engine::OutputKind;
using engine::PageId;

const std::vector<PageId> table = {4, 9};

/// Two rows of one sequence, the second sampled.
Batch valid_batch() {
    Batch batch;
    batch.sequences = {{.pages = {table}}};
    batch.rows.resize(2);
    batch.rows[1].set_position(1);
    batch.rows[1].output_kind = OutputKind::sampled;
    batch.rows[1].sampling.top_k = 16;
    return batch;
}

struct Fault {
    const char* message; ///< part of it
    std::function<void(Batch&)> make;
};

const std::vector<PageId> wild_table = {4, 128};

TEST_CASE("check() names each rule that a batch breaks") {
    REQUIRE(check(valid_batch(), fake_limits()));
    const std::vector<Fault> faults = {
        {"no rows", [](Batch& b) { b.rows.clear(); }},
        {"17 rows", [](Batch& b) { b.rows.resize(17); }},
        {"5 sequences", [](Batch& b) { b.sequences.resize(5, b.sequences[0]); }},
        {"cache group 1", [](Batch& b) { b.copies = {{1, 2, 3}}; }},
        {"to page 128", [](Batch& b) { b.copies = {{0, 2, 128}}; }},
        {"from page 3 to page 3", [](Batch& b) { b.copies = {{0, 3, 3}}; }},
        {"copies 0 and 1", [](Batch& b) { b.copies = {{0, 2, 3}, {0, 3, 5}}; }},
        {"copies 0 and 1", [](Batch& b) { b.copies = {{0, 2, 3}, {0, 1, 3}}; }},
        {"0 page tables", [](Batch& b) { b.sequences[0].pages.clear(); }},
        {"page 128", [](Batch& b) { b.sequences[0].pages = {wild_table}; }},
        {"row 0: token 64", [](Batch& b) { b.rows[0].value = 64; }},
        {"row 1: slot 8",
         [](Batch& b) {
             b.rows[1].input = engine::RowInput::slot;
             b.rows[1].value = 8;
         }},
        {"row 0: embedding 0 of 0", [](Batch& b) { b.rows[0].input = engine::RowInput::embedding; }},
        {"row 0: its embedding has 2 values; the width of the model is 3",
         [](Batch& b) {
             static const std::vector<float> narrow(2);
             b.rows[0].input = engine::RowInput::embedding;
             b.embeddings = {narrow};
         }},
        {"17 embeddings", [](Batch& b) { b.embeddings.resize(17); }},
        {"sequence 1 of 1", [](Batch& b) { b.rows[0].sequence = 1; }},
        {"context of 256", [](Batch& b) { b.rows[0].set_position(256); }},
        {"no page for position 8", [](Batch& b) { b.rows[0].set_position(8); }},
        {"position 2 of sequence 0 after position 0", [](Batch& b) { b.rows[1].set_position(2); }},
        {"position 0 of sequence 0 after position 0", [](Batch& b) { b.rows[1].set_position(0); }},
        {"position 1 attends to [2, 2)", [](Batch& b) { b.rows[1].attend_begin = 2; }},
        {"position 1 attends to [0, 1)", [](Batch& b) { b.rows[1].attend_end = 1; }},
        {"attends to [0, 3), but its sequence ends at 2", [](Batch& b) { b.rows[0].attend_end = 3; }},
        {"output slot 8", [](Batch& b) { b.rows[1].output_slot = 8; }},
        {"written twice", [](Batch& b) { b.rows[0] = b.rows[1], b.rows[0].set_position(0); }},
        {"top_k 0", [](Batch& b) { b.rows[1].sampling.top_k = 0; }},
        {"top_k 17", [](Batch& b) { b.rows[1].sampling.top_k = 17; }},
        {"min_p", [](Batch& b) { b.rows[1].sampling.min_p = 2; }},
        {"temperature, top_k, top_p and min_p only", [](Batch& b) { b.rows[1].sampling.typical_p = 0.5F; }},
        {"temperature, top_k, top_p and min_p only",
         [](Batch& b) { b.rows[1].sampling.repetition_penalty = 2; }},
        {"0 candidates, outside 1 to 16", [](Batch& b) { b.rows[0].output_kind = OutputKind::candidates; }},
        {"17 candidates", [](Batch& b) { b.rows[1].candidates = 17; }},
    };
    for (const Fault& fault : faults) {
        Batch batch = valid_batch();
        fault.make(batch);
        const Status status = check(batch, fake_limits());
        INFO(fault.message);
        REQUIRE(!status);
        CHECK(status.error().kind == ErrorKind::invalid_argument);
        INFO(status.error().message);
        CHECK(status.error().message.find(fault.message) != std::string::npos);
    }
    Batch many = valid_batch();
    many.rows.resize(6);
    for (uint32_t i = 0; i < 6; ++i) {
        many.rows[i].set_position(i);
        many.rows[i].output_kind = OutputKind::logits;
    }
    CHECK(check(many, fake_limits()).error().message.find("6 rows run the LM head") == 0);
    many = valid_batch();
    many.rows[1].sampling = {.temperature = 0, .top_k = 0};
    CHECK(check(many, fake_limits())); // greedy needs no top_k
}

TEST_CASE("the fake executor has the delay of a real one") {
    FakeExecutor executor;
    const auto first = executor.submit(valid_batch());
    const auto second = executor.submit(valid_batch());
    REQUIRE(first);
    REQUIRE(second);
    CHECK(executor.submit(valid_batch()).error().kind == ErrorKind::busy);
    CHECK(executor.wait(*second).error().kind == ErrorKind::invalid_argument); // not the oldest
    CHECK(executor.wait(*first));
    CHECK(executor.wait(*first).error().kind == ErrorKind::invalid_argument); // read once
    CHECK(executor.wait(*second));
}

TEST_CASE("the fake executor reports unfilled slots and conflicting writes") {
    FakeExecutor executor;
    Batch unfilled = valid_batch();
    unfilled.rows[0].input = engine::RowInput::slot;
    CHECK(executor.wait(*executor.submit(unfilled)).error().message == "slot 0 was never filled");
    Batch clash = valid_batch();
    clash.sequences.push_back(clash.sequences[0]);
    clash.rows[1].sequence = 1;
    clash.rows[1].set_position(0);
    CHECK(executor.wait(*executor.submit(clash)).error().kind == ErrorKind::internal);
}

TEST_CASE("the fake executor's rows read all positions that they attend to including later ones") {
    const auto first_logits = [](TokenId last, uint32_t attend_end) {
        FakeExecutor executor;
        Batch batch;
        batch.sequences = {{.pages = {table}}};
        for (uint32_t i = 0; i < 3; ++i)
            batch.rows.push_back({.value = i, .position = i, .attend_end = i + 1});
        batch.rows[0].output_kind = OutputKind::logits;
        batch.rows[0].attend_end = attend_end;
        batch.rows[2].value = last;
        return executor.wait(*executor.submit(batch)).value().rows.at(0).logits;
    };
    CHECK(first_logits(7, 2) == first_logits(8, 2));
    CHECK(first_logits(7, 3) != first_logits(8, 3));
    CHECK(first_logits(7, 2) != first_logits(7, 3));
}

TEST_CASE("the fake executor takes embeddings and gives hidden states") {
    const auto last_row = [](float value, OutputKind kind) {
        FakeExecutor executor;
        const std::vector<float> embedding{1, value, 3};
        Batch batch = valid_batch();
        batch.rows[0].input = engine::RowInput::embedding;
        batch.embeddings = {embedding};
        batch.rows[1].output_kind = kind;
        return executor.wait(*executor.submit(batch)).value().rows.at(0);
    };
    CHECK(last_row(2, OutputKind::logits).logits == last_row(2, OutputKind::logits).logits);
    CHECK(last_row(2, OutputKind::logits).logits != last_row(5, OutputKind::logits).logits);
    CHECK(last_row(2, OutputKind::hidden).hidden.size() == 3);
    CHECK(last_row(2, OutputKind::hidden).hidden != last_row(5, OutputKind::hidden).hidden);
    CHECK(last_row(2, OutputKind::hidden).logits.empty());
}

TEST_CASE("the fake executor's logits depend on the pages in the tables") {
    const std::vector<PageId> other = {4, 8};
    const auto last_logits = [](const std::vector<PageId>& second_table) {
        FakeExecutor executor;
        Batch batch;
        batch.sequences = {{.pages = {table}}};
        for (uint32_t i = 0; i < 5; ++i)
            batch.rows.push_back({.value = i, .position = i, .attend_end = i + 1});
        REQUIRE(executor.wait(*executor.submit(batch)));
        batch.sequences = {{.pages = {second_table}}};
        batch.rows = {{.output_kind = OutputKind::logits, .value = 9, .position = 5, .attend_end = 6}};
        return executor.wait(*executor.submit(batch)).value().rows.at(0).logits;
    };
    CHECK(last_logits(table) == last_logits(table));
    CHECK(last_logits(table) != last_logits(other));
}

} // namespace
} // namespace etna::test
