#pragma once

#include "cli/bench/bench_report.hpp"
#include "core/base/result.hpp"
#include "core/engine/engine.hpp"
#include "core/generate/embedding_head.hpp"
#include "core/generate/pooling.hpp"

#include <cstdint>
#include <functional>

namespace etna::cli {

/// The sizes of a measurement of an encoder, and how a text becomes an embedding.
struct EmbeddingPlan {
    uint32_t text_tokens = 512;
    uint32_t repetitions = 5;
    generate::Pooling pooling = generate::Pooling::mean;
    generate::EmbeddingHead head = {}; ///< applied to each text, as generate::Embedder does
    uint64_t row_weights = 0;          ///< model::WeightReads'; 0: unknown
};

/// Embeds made-up texts on an engine and measures them. No two texts have the same tokens. Belongs to one
/// thread.
class EmbeddingBench {
public:
    /// `engine` is borrowed. Precondition: its model is an encoder, and a text of EmbeddingPlan::text_tokens
    /// fits it.
    EmbeddingBench(engine::Engine& engine, EmbeddingPlan plan);

    /// Measures `batch` texts that are submitted together. Calls `progress` before each repetition; 0 is the
    /// warm-up. Blocks. Errors: out_of_memory (the texts do not run together), and those of the engine's
    /// requests.
    Result<EmbeddingRow> measure(uint32_t batch, const std::function<void(uint32_t repetition)>& progress);

private:
    /// Returns the milliseconds from the submission of `batch` texts to the last embedding.
    Result<double> embed(uint32_t batch);

    engine::Engine* engine_;
    EmbeddingPlan plan_;
    uint64_t seed_ = 0; ///< of the newest text
};

} // namespace etna::cli
