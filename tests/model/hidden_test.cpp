#include "tests/model/model_case.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <vector>

using namespace etna;
using namespace etna::test;

// Hidden states as outputs, embeddings as inputs, and rows that attend to later positions.
namespace {

constexpr uint32_t hidden_vocabulary = 200;
constexpr uint32_t hidden_width = 64;

Bytes small_model(RandomArchitecture architecture) {
    return random_model({.architecture = architecture,
                         .embedding = hidden_width,
                         .vocabulary = hidden_vocabulary,
                         .matrices = WeightFormat::f32,
                         .embedding_format = WeightFormat::f32,
                         .head_format = WeightFormat::f32,
                         .tokenizer = RandomTokenizer::none});
}

/// One sequence of token rows, each with the output `kind`.
engine::Batch rows_of(const std::vector<TokenId>& tokens, const GroupTables& pages, engine::OutputKind kind) {
    engine::Batch batch;
    batch.sequences = {pages.view(0, 0)};
    for (uint32_t i = 0; i < tokens.size(); ++i) {
        engine::Row row;
        row.output_kind = kind;
        row.value = tokens[i];
        row.set_position(i);
        batch.rows.push_back(row);
    }
    return batch;
}

} // namespace

TEST_CASE("a hidden state matches the twin's in a step with rows of other outputs", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(small_model(architecture),
                         {.family = kernels::PlanFamily::lavapipe,
                          .cache = {kernels::CacheFormat::f32, kernels::CacheFormat::f32}});
        const auto tokens = random_tokens(40, hidden_vocabulary, 8);
        const GroupTables pages(tested.executor().limits(), {5, 2});
        engine::Batch batch = rows_of(tokens, pages, engine::OutputKind::hidden);
        batch.rows[7].output_kind = engine::OutputKind::logits;
        batch.rows[8].output_kind = engine::OutputKind::none;
        const engine::Outputs outputs = run_batch(tested.executor(), batch);
        REQUIRE(outputs.rows.size() == tokens.size() - 1);
        reference::Cache cache = tested.twin().make_cache();
        std::size_t next = 0;
        for (uint32_t i = 0; i < tokens.size(); ++i) {
            const reference::Vector expected = tested.twin().hidden(tokens[i], i, i, cache);
            if (batch.rows[i].output_kind == engine::OutputKind::none)
                continue;
            const engine::RowOutput& output = outputs.rows[next++];
            if (i == 7) {
                CHECK(output.hidden.empty());
                CHECK(output.logits.size() == hidden_vocabulary);
                continue;
            }
            CHECK(output.logits.empty());
            REQUIRE(output.hidden.size() == hidden_width);
            for (std::size_t k = 0; k < hidden_width; ++k)
                REQUIRE(output.hidden[k] == Approx(expected[k]).margin(2e-3).epsilon(0));
        }
    }
}

TEST_CASE("rows of embeddings give the bits of the tokens that have them", "[device]") {
    const auto architecture = GENERATE(RandomArchitecture::llama, RandomArchitecture::granite);
    INFO(to_string(architecture));
    ModelCase tested(small_model(architecture),
                     {.family = kernels::PlanFamily::lavapipe, .embeddings_max = 13});
    const auto tokens = random_tokens(37, hidden_vocabulary, 9);
    const GroupTables pages(tested.executor().limits(), {5, 2});
    engine::Batch batch = rows_of(tokens, pages, engine::OutputKind::logits);
    const engine::Outputs expected = run_batch(tested.executor(), batch);

    const reference::Matrix& table = tested.twin().weights().embedding;
    std::vector<std::vector<float>> embeddings;
    for (uint32_t i = 0; i < tokens.size(); i += 3) {
        const auto row = table.row(tokens[i]);
        embeddings.emplace_back(row.begin(), row.end());
        batch.rows[i].input = engine::RowInput::embedding;
        batch.rows[i].value = static_cast<uint32_t>(embeddings.size() - 1);
    }
    batch.embeddings.assign(embeddings.begin(), embeddings.end());
    const engine::Outputs outputs = run_batch(tested.executor(), batch);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        REQUIRE(outputs.rows[i].logits == expected.rows[i].logits);
    embeddings[1][5] += 1;
    CHECK(run_batch(tested.executor(), batch).rows[3].logits != expected.rows[3].logits);
}

TEST_CASE("rows that attend to each other are the twin's", "[device]") {
    for (const auto architecture : all_random_architectures) {
        INFO(to_string(architecture));
        ModelCase tested(small_model(architecture),
                         {.family = kernels::PlanFamily::lavapipe,
                          .cache = {kernels::CacheFormat::f32, kernels::CacheFormat::f32}});
        const auto tokens = random_tokens(37, hidden_vocabulary, 11);
        const GroupTables pages(tested.executor().limits(), {5, 2});
        engine::Batch batch = rows_of(tokens, pages, engine::OutputKind::hidden);
        for (engine::Row& row : batch.rows)
            row.attend_end = static_cast<uint32_t>(tokens.size());
        const engine::Outputs outputs = run_batch(tested.executor(), batch);
        const std::vector<reference::Vector> expected = tested.twin().hidden_together(tokens);
        REQUIRE(outputs.rows.size() == tokens.size());
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            for (std::size_t k = 0; k < hidden_width; ++k)
                REQUIRE(outputs.rows[i].hidden[k] == Approx(expected[i][k]).margin(2e-3).epsilon(0));
        }
    }
}

TEST_CASE("a row that attends to later positions depends on them", "[device]") {
    ModelCase tested(small_model(RandomArchitecture::gemma3), {});
    auto tokens = random_tokens(20, hidden_vocabulary, 10);
    const GroupTables pages(tested.executor().limits(), {5, 2});
    const auto first_logits = [&](uint32_t attend_end) {
        engine::Batch batch = rows_of(tokens, pages, engine::OutputKind::logits);
        for (uint32_t i = 0; i < attend_end; ++i)
            batch.rows[i].attend_end = attend_end;
        return run_batch(tested.executor(), batch).rows[0].logits;
    };
    const auto causal = first_logits(1);
    const auto seven = first_logits(7);
    CHECK(causal != seven);
    tokens[6] = (tokens[6] + 1) % hidden_vocabulary;
    CHECK(first_logits(7) != seven);
    CHECK(first_logits(1) == causal);
    CHECK(first_logits(6) != causal);
}
