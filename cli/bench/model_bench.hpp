#pragma once

#include "cli/bench/bench_report.hpp"
#include "cli/bench/step_meter.hpp"
#include "core/base/result.hpp"
#include "core/engine/engine.hpp"
#include "core/model/plan.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace etna::cli {

/// What `etna bench MODEL` measures.
struct BenchPlan {
    uint32_t prompt_tokens = 512;
    uint32_t generated_tokens = 128;
    std::vector<uint32_t> batches = {1, 4, 16};
    std::vector<uint32_t> depths = {0, 4096};
    uint32_t repetitions = 5;

    /// Returns the context that the longest sequence needs.
    [[nodiscard]] uint32_t context_tokens() const;
};

/// The default plan on a CPU.
BenchPlan cpu_bench_plan();

/// Returns at most how many seconds all rows take, from the first of them: `repetition_s` is the time of one
/// repetition, warm-up excluded. More sequences together are counted as if they ran one by one, which is true
/// of no GPU.
double seconds_at_most(const BenchPlan& plan, double repetition_s);

/// Runs made-up prompts on an engine and measures them. For each batch and depth: once to compile kernels and
/// to fill the cache up to the depth, which does not count; then, in each repetition, a prompt alone and a
/// generation alone. Prompts differ after the depth, so that no cached page serves the next one. Belongs to
/// one thread.
class ModelBench {
public:
    /// `engine` is borrowed; its executor notes its steps in `meter`.
    ModelBench(engine::Engine& engine, std::shared_ptr<StepMeter> meter, BenchPlan plan,
               model::WeightReads weights);

    /// Measures one batch and depth. Calls `progress` before each repetition; 0 is the warm-up. Blocks.
    /// Errors: out_of_memory (the sequences do not run together), and those of the engine's requests.
    Result<BenchRow> measure(uint32_t batch, uint32_t depth,
                             const std::function<void(uint32_t repetition)>& progress);

    /// Generates with one batch at one depth, so that the last step is one of generation. Blocks. Errors:
    /// those of the engine's requests.
    Status generate(uint32_t batch, uint32_t depth);

private:
    /// The samples of one batch and depth.
    struct Samples {
        std::vector<double> prompt_tok_s;
        std::vector<double> first_token_ms;
        std::vector<double> generation_tok_s;
        std::vector<double> host_us;
        GenerationSpan last;
    };

    /// Runs `batch` requests together, each with `depth` tokens that are the same in each call and
    /// `new_tokens` that are in no other call.
    Result<std::vector<engine::Finished>> run(uint32_t batch, uint32_t depth, uint32_t new_tokens,
                                              uint32_t generated_tokens);
    Status measure_prompt(uint32_t batch, uint32_t depth, Samples& samples);
    Status measure_generation(uint32_t batch, uint32_t depth, Samples& samples);

    engine::Engine* engine_;
    std::shared_ptr<StepMeter> meter_;
    BenchPlan plan_;
    model::WeightReads weights_;
    uint64_t seed_ = 0; ///< of the newest tokens
};

} // namespace etna::cli
