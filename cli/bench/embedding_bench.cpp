#include "cli/bench/embedding_bench.hpp"

#include "cli/bench/bench_requests.hpp"
#include "core/generate/embedding.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Returns `count` per second for each duration.
Spread rates(const std::vector<double>& durations_ms, uint64_t count) {
    std::vector<double> samples;
    samples.reserve(durations_ms.size());
    for (const double duration_ms : durations_ms)
        samples.push_back(static_cast<double>(count) / (duration_ms / 1e3));
    return spread_of(std::move(samples));
}

} // namespace

EmbeddingBench::EmbeddingBench(engine::Engine& engine, EmbeddingPlan plan)
    : engine_(&engine), plan_(std::move(plan)) {}

Result<double> EmbeddingBench::embed(uint32_t batch) {
    const engine::Limits& limits = engine_->limits();
    std::vector<engine::Request> requests;
    for (uint32_t i = 0; i < batch; ++i) {
        std::vector<TokenId> tokens;
        add_random_tokens(tokens, ++seed_, plan_.text_tokens, limits.vocabulary);
        requests.push_back(generate::hidden_request(std::move(tokens), plan_.pooling, limits));
    }
    const auto start = std::chrono::steady_clock::now();
    ETNA_TRY(std::vector<engine::Stream> streams, engine_->submit_all(std::move(requests)));
    for (engine::Stream& stream : streams) {
        ETNA_TRY(engine::Finished one, wait_for_end(stream));
        if (one.reason != engine::FinishReason::stop) {
            return Error{.kind = ErrorKind::out_of_memory,
                         .message =
                             fmt::format("the cache has no room for a text of {} tokens", plan_.text_tokens),
                         .hint = "choose a smaller --prompt-tokens"};
        }
        std::vector<float> embedding = plan_.head.apply(std::move(one.hidden));
        if (plan_.pooling != generate::Pooling::rank)
            generate::normalise(embedding);
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<EmbeddingRow> EmbeddingBench::measure(uint32_t batch,
                                             const std::function<void(uint32_t repetition)>& progress) {
    ETNA_CHECK(check_batch(batch, engine_->limits()));
    std::vector<double> durations_ms;
    for (uint32_t repetition = 0; repetition <= plan_.repetitions; ++repetition) {
        progress(repetition);
        ETNA_TRY(const double duration_ms, embed(batch));
        if (repetition > 0)
            durations_ms.push_back(duration_ms);
    }
    return EmbeddingRow{.batch = batch,
                        .batch_ms = spread_of(durations_ms),
                        .texts_s = rates(durations_ms, batch),
                        .tok_s = rates(durations_ms, uint64_t{batch} * plan_.text_tokens),
                        .row_weights = plan_.row_weights};
}

} // namespace etna::cli
