#include "core/engine/segments.hpp"
#include "tests/model/model_case.hpp"
#include "tests/reference/encoder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

// Text encoders, compared with the twin.
namespace {

constexpr uint64_t cache_bytes = 8 * mebibyte;

/// An encoder in memory, its executor on the device under test, and its CPU twin.
class EncoderCase {
public:
    EncoderCase(const RandomEncoderOptions& options, kernels::PlanFamily family,
                kernels::CacheFormats cache = {kernels::CacheFormat::f32, kernels::CacheFormat::f32})
        : case_(random_encoder(options),
                {.family = family, .cache = cache, .kv_memory_bytes = cache_bytes, .batch_rows_max = 256}),
          twin_(reference::ReferenceEncoder::load(case_.file()).value()) {}

    /// Returns the hidden states of all texts, computed in one step.
    std::vector<std::vector<std::vector<float>>> run(const std::vector<std::vector<TokenId>>& texts) {
        engine::Batch batch;
        std::vector<GroupTables> tables;
        tables.reserve(texts.size());
        engine::PageId page = 0;
        for (uint32_t i = 0; i < texts.size(); ++i) {
            std::vector<engine::PageId> pages;
            for (uint32_t position = 0; position < texts[i].size(); position += 32)
                pages.push_back(page++);
            tables.emplace_back(case_.executor().limits(), pages);
            batch.sequences.push_back(tables.back().view());
            for (uint32_t position = 0; position < texts[i].size(); ++position) {
                engine::Row row;
                row.output_kind = engine::OutputKind::hidden;
                row.value = texts[i][position];
                row.sequence = i;
                row.set_position(position);
                row.attend_end = static_cast<uint32_t>(texts[i].size());
                batch.rows.push_back(row);
            }
        }
        engine::Outputs outputs = run_batch(case_.executor(), batch);
        std::vector<std::vector<std::vector<float>>> states(texts.size());
        for (std::size_t i = 0; i < outputs.rows.size(); ++i)
            states[batch.rows[i].sequence].push_back(std::move(outputs.rows[i].hidden));
        return states;
    }

    [[nodiscard]] const reference::ReferenceEncoder& twin() const { return twin_; }

private:
    ModelCase case_;
    reference::ReferenceEncoder twin_;
};

std::vector<std::vector<TokenId>> some_texts(uint32_t token_count) {
    std::vector<std::vector<TokenId>> texts;
    for (const uint32_t length : {37U, 1U, 70U, 100U})
        texts.push_back(random_tokens(length, token_count, length));
    return texts;
}

double cosine(const std::vector<float>& a, const reference::Vector& b) {
    double product = 0;
    double squares_a = 0;
    double squares_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += double{a[i]} * b[i];
        squares_a += double{a[i]} * double{a[i]};
        squares_b += b[i] * b[i];
    }
    return product / std::sqrt(squares_a * squares_b);
}

/// A BERT whose table of positions repeats after `period` rows.
Bytes encoder_with_period(const RandomEncoderOptions& options, uint32_t period) {
    Bytes bytes = random_encoder(options);
    const auto file = gguf::File::parse(bytes, "period");
    const auto& tensors = file.value().tensors();
    const auto table = std::find_if(tensors.begin(), tensors.end(), [](const gguf::Tensor& tensor) {
        return tensor.name == "position_embd.weight";
    });
    const uint64_t row_bytes = uint64_t{options.embedding} * sizeof(float);
    for (uint32_t row = period; row < options.context; ++row) {
        std::memcpy(&bytes[table->offset + row * row_bytes],
                    &bytes[table->offset + (row % period) * row_bytes], row_bytes);
    }
    return bytes;
}

/// The hidden state of a token that attends to itself alone.
std::vector<float> state_at(engine::Executor& executor, uint32_t position) {
    const std::vector<engine::PageId> pages(position / executor.limits().page_tokens + 1, 0);
    const GroupTables tables(executor.limits(), pages);
    engine::Batch batch;
    batch.sequences.push_back(tables.view());
    engine::Row row;
    row.output_kind = engine::OutputKind::hidden;
    row.value = 11;
    row.set_position(position);
    row.attend_begin = position;
    row.attend_end = position + 1;
    batch.rows.push_back(row);
    return run_batch(executor, batch).rows[0].hidden;
}

} // namespace

TEST_CASE("a table of positions larger than a staging buffer is loaded in full", "[device][encoder]") {
    constexpr uint32_t period = 7;
    const RandomEncoderOptions options{.layers = 1, .embedding = 512, .feed_forward = 64, .context = 8192};
    ModelCase tested(encoder_with_period(options, period),
                     {.family = kernels::PlanFamily::nvidia, .kv_memory_bytes = 4 * cache_bytes});
    std::vector<std::vector<float>> expected;
    for (uint32_t position = 0; position < period; ++position)
        expected.push_back(state_at(tested.executor(), position));
    REQUIRE(expected[0] != expected[1]);
    for (const uint32_t position : {4095U, 4096U, 4097U, 8191U}) { // 8 MiB are 4,096 rows
        INFO("position " << position);
        CHECK(state_at(tested.executor(), position) == expected[position % period]);
    }
}

TEST_CASE("hidden states of encoders match the twin's", "[device][encoder]") {
    std::size_t index = 0;
    for (const std::string_view architecture : all_random_encoders) {
        const RandomEncoderOptions options{
            .architecture = architecture, .layers = 4, .embedding = 72, .heads = 3, .feed_forward = 99};
        for (const kernels::PlanFamily family : families_of(index++)) {
            INFO(architecture);
            EncoderCase tested(options, family);
            const auto texts = some_texts(options.vocabulary);
            const auto states = tested.run(texts);
            for (std::size_t text = 0; text < texts.size(); ++text) {
                const auto expected = tested.twin().hidden(texts[text]);
                REQUIRE(states[text].size() == expected.size());
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    for (std::size_t k = 0; k < expected[i].size(); ++k)
                        REQUIRE(states[text][i][k] == Approx(expected[i][k]).margin(2e-3).epsilon(0));
                }
            }
        }
    }
}

TEST_CASE("encoders compute in every format, with halves and a cache in f16", "[device][encoder]") {
    std::size_t index = 0;
    for (const WeightFormat format : {WeightFormat::f16, WeightFormat::q8_0, WeightFormat::q4_k}) {
        for (const std::string_view architecture : all_random_encoders) {
            const RandomEncoderOptions options{.architecture = architecture,
                                               .embedding = 256,
                                               .feed_forward = 512,
                                               .head_dim = 64,
                                               .matrices = format};
            for (const kernels::PlanFamily family : families_of(index++)) {
                INFO(architecture);
                EncoderCase tested(options, family, {});
                const std::vector<std::vector<TokenId>> texts{random_tokens(45, options.vocabulary, 3)};
                const auto states = tested.run(texts);
                const auto expected = tested.twin().hidden(texts[0]);
                for (std::size_t i = 0; i < expected.size(); ++i)
                    CHECK(cosine(states[0][i], expected[i]) > 1 - 1e-4);
            }
        }
    }
}

TEST_CASE("a text has the same bits alone and in a batch", "[device][encoder]") {
    for (const std::string_view architecture : all_random_encoders) {
        INFO(architecture);
        EncoderCase tested({.architecture = architecture}, kernels::PlanFamily::nvidia, {});
        const auto texts = some_texts(200);
        const auto together = tested.run(texts);
        for (std::size_t i = 0; i < texts.size(); ++i)
            CHECK(tested.run({texts[i]})[0] == together[i]);
    }
}

TEST_CASE("an encoder's limits describe an encoder", "[device][encoder]") {
    const Bytes bytes = random_encoder({.context = 96});
    ModelCase tested(
        bytes,
        {.family = kernels::PlanFamily::lavapipe, .kv_memory_bytes = cache_bytes, .batch_rows_max = 0});
    const engine::Limits& limits = tested.executor().limits();
    CHECK(limits.is_encoder);
    CHECK(limits.batch_rows_max >= 96);
    CHECK(engine::whole_segment_max(limits) == limits.batch_rows_max);
}
