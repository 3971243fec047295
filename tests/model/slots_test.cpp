#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace etna;
using namespace etna::test;

// Sampled ids that stay on the device, several submissions in flight, and the other forms of answer.
namespace {

constexpr uint32_t vocabulary = 300;

Bytes model_bytes() {
    return random_model({.vocabulary = vocabulary, .tokenizer = RandomTokenizer::none, .head_scale = 2.0F});
}

engine::Row row_at(uint32_t index, engine::RowInput input, uint32_t value,
                   const sampling::Parameters& parameters, uint32_t slot) {
    engine::Row row;
    row.input = input;
    row.kind = index == 0 ? engine::RowKind::prompt : engine::RowKind::generation;
    row.want = engine::Want::sampled;
    row.value = value;
    row.index = index;
    row.position[0] = index;
    row.output_slot = slot;
    row.sampling = parameters;
    return row;
}

/// `count` tokens after token 1, each fed by the host.
std::vector<TokenId> host_fed(engine::Executor& executor, uint32_t count,
                              const sampling::Parameters& parameters) {
    const std::vector<engine::PageId> pages{0, 1, 2};
    std::vector<TokenId> tokens{1};
    for (uint32_t i = 0; i < count; ++i) {
        const engine::Batch batch{.copies = {},
                                  .sequences = {{.pages = {pages}}},
                                  .rows = {row_at(i, engine::RowInput::token, tokens.back(), parameters, 0)}};
        tokens.push_back(run_batch(executor, batch).rows.at(0).token);
    }
    return tokens;
}

/// The same with each token left in a slot for the next step, which is submitted before the answer is read.
std::vector<TokenId> slot_fed(engine::Executor& executor, uint32_t count,
                              const sampling::Parameters& parameters) {
    const std::vector<engine::PageId> pages{5, 4, 3};
    std::vector<TokenId> tokens{1};
    std::vector<engine::Ticket> unread;
    const auto read_oldest = [&] {
        const auto outputs = executor.wait(unread.front());
        REQUIRE(outputs);
        unread.erase(unread.begin());
        tokens.push_back(outputs->rows.at(0).token);
    };
    for (uint32_t i = 0; i < count; ++i) {
        const auto input = i == 0 ? engine::RowInput::token : engine::RowInput::slot;
        const uint32_t value = i == 0 ? 1 : (i - 1) % 2;
        const engine::Batch batch{.copies = {},
                                  .sequences = {{.pages = {pages}}},
                                  .rows = {row_at(i, input, value, parameters, i % 2)}};
        const auto ticket = executor.submit(batch);
        REQUIRE(ticket);
        unread.push_back(*ticket);
        if (unread.size() == executor.limits().in_flight_max)
            read_oldest();
    }
    while (!unread.empty())
        read_oldest();
    return tokens;
}

} // namespace

TEST_CASE("tokens that stay in slots are those that the host would feed", "[device]") {
    ModelCase tested(model_bytes(), {});
    REQUIRE(tested.executor().limits().in_flight_max >= 2);
    const sampling::Parameters greedy{.temperature = 0};
    const auto expected = tested.twin().continue_greedily(std::vector<TokenId>{1}, 70);
    const auto host = host_fed(tested.executor(), 70, greedy);
    CHECK(std::vector<TokenId>(host.begin() + 1, host.end()) == expected);
    CHECK(slot_fed(tested.executor(), 70, greedy) == host);

    const sampling::Parameters drawn{
        .temperature = 1.1F, .top_k = 30, .top_p = 0.9F, .min_p = 0.01F, .seed = 42};
    const auto host_drawn = host_fed(tested.executor(), 70, drawn);
    CHECK(host_drawn != host);
    CHECK(slot_fed(tested.executor(), 70, drawn) == host_drawn);
}

TEST_CASE("candidates, log-sum-exp and logits tell of the same distribution", "[device]") {
    ModelCase tested(model_bytes(), {});
    const std::vector<engine::PageId> first{0};
    const std::vector<engine::PageId> second{1};
    engine::Batch batch{.copies = {}, .sequences = {{.pages = {first}}, {.pages = {second}}}, .rows = {}};
    for (uint32_t sequence = 0; sequence < 2; ++sequence) {
        engine::Row row;
        row.value = 7;
        row.sequence = sequence;
        row.want = sequence == 0 ? engine::Want::logits : engine::Want::candidates;
        row.candidates = sequence == 0 ? 0 : 9;
        batch.rows.push_back(row);
    }
    const engine::Outputs outputs = run_batch(tested.executor(), batch);
    const std::vector<float>& logits = outputs.rows.at(0).logits;
    const auto& candidates = outputs.rows.at(1).candidates;
    REQUIRE(logits.size() == vocabulary);
    REQUIRE(candidates.size() == 9);
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(static_cast<double>(logit));
    CHECK(outputs.rows[1].log_sum_exp == Approx(std::log(sum)).epsilon(1e-5));
    std::vector<float> sorted = logits;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        CHECK(candidates[i].logit == sorted[i]);
        CHECK(logits[candidates[i].token] == candidates[i].logit);
    }
}

TEST_CASE("submissions and tickets are refused out of order", "[device]") {
    ModelCase tested(model_bytes(), {});
    engine::Executor& executor = tested.executor();
    const std::vector<engine::PageId> pages{0};
    const engine::Batch batch{.copies = {},
                              .sequences = {{.pages = {pages}}},
                              .rows = {row_at(0, engine::RowInput::token, 1, {.temperature = 0}, 0)}};
    CHECK(executor.wait({.value = 1}).error().kind == ErrorKind::invalid_argument);
    CHECK(executor.submit({}).error().kind == ErrorKind::invalid_argument);
    for (uint32_t i = 0; i < executor.limits().in_flight_max; ++i)
        REQUIRE(executor.submit(batch));
    CHECK(executor.submit(batch).error().kind == ErrorKind::busy);
    CHECK(executor.wait({.value = 2}).error().kind == ErrorKind::invalid_argument);
    CHECK(executor.wait({.value = 1}));
    CHECK(executor.wait({.value = 1}).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("logits that are not numbers are an error with the row", "[device]") {
    const GgufWriter writer =
        random_model_writer({.vocabulary = vocabulary, .tokenizer = RandomTokenizer::none});
    Bytes bytes = writer.bytes();
    // The last tensor is the head, F32: its last value becomes a NaN.
    const float nan = NAN;
    std::memcpy(bytes.data() + bytes.size() - sizeof nan, &nan, sizeof nan);
    ModelCase tested(std::move(bytes), {});
    const std::vector<engine::PageId> pages{0};
    const auto ticket =
        tested.executor().submit({.copies = {},
                                  .sequences = {{.pages = {pages}}},
                                  .rows = {row_at(0, engine::RowInput::token, 1, {.temperature = 0}, 0)}});
    REQUIRE(ticket);
    const auto outputs = tested.executor().wait(*ticket);
    REQUIRE(!outputs);
    CHECK(outputs.error().kind == ErrorKind::internal);
    CHECK(outputs.error().message == "test model: the logits of row 0 are not numbers");
}
