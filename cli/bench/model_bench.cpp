#include "cli/bench/model_bench.hpp"

#include "cli/bench/bench_requests.hpp"
#include "core/engine/stream.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Seeds of the tokens before the depth are above those of the tokens after it.
constexpr uint64_t depth_seeds = uint64_t{1} << 32U;

double first_token_ms(const engine::Finished& finished) {
    return finished.timings.queue_ms + finished.timings.prompt_ms;
}

} // namespace

uint32_t BenchPlan::context_tokens() const {
    constexpr uint32_t slack = 64; // the first token of a generation, and whole pages
    return *std::max_element(depths.begin(), depths.end()) + std::max(prompt_tokens, generated_tokens) +
           slack;
}

BenchPlan cpu_bench_plan() {
    return {.prompt_tokens = 64, .generated_tokens = 16, .batches = {1, 4}, .depths = {0}, .repetitions = 3};
}

double seconds_at_most(const BenchPlan& plan, double repetition_s) {
    const double row_tokens = plan.prompt_tokens + plan.generated_tokens;
    double rows = 0; // of one sequence at depth 0
    for (const uint32_t batch : plan.batches) {
        for (const uint32_t depth : plan.depths)
            rows += batch * (plan.repetitions + 1 + depth / row_tokens);
    }
    return rows * repetition_s / plan.batches.front();
}

ModelBench::ModelBench(engine::Engine& engine, std::shared_ptr<StepMeter> meter, BenchPlan plan,
                       model::WeightReads weights)
    : engine_(&engine), meter_(std::move(meter)), plan_(std::move(plan)), weights_(weights) {}

Result<std::vector<engine::Finished>> ModelBench::run(uint32_t batch, uint32_t depth, uint32_t new_tokens,
                                                      uint32_t generated_tokens) {
    const uint32_t vocabulary = engine_->limits().vocabulary;
    std::vector<engine::Request> requests;
    for (uint32_t i = 0; i < batch; ++i) {
        engine::Request request{.sampling = {.temperature = 0}, .max_tokens = generated_tokens};
        add_random_tokens(request.prompt, depth_seeds + i, depth, vocabulary);
        add_random_tokens(request.prompt, ++seed_, new_tokens, vocabulary);
        if (depth > 0)
            request.branch_positions = {depth};
        requests.push_back(std::move(request));
    }
    meter_->take();
    ETNA_TRY(std::vector<engine::Stream> streams, engine_->submit_all(std::move(requests)));
    std::vector<engine::Finished> results;
    for (engine::Stream& stream : streams) {
        ETNA_TRY(engine::Finished one, wait_for_end(stream));
        results.push_back(std::move(one));
    }
    return results;
}

Status ModelBench::measure_prompt(uint32_t batch, uint32_t depth, Samples& samples) {
    ETNA_TRY(const auto results, run(batch, depth, plan_.prompt_tokens, 1));
    double tokens = 0;
    double longest_ms = 0;
    for (const engine::Finished& one : results) {
        tokens += one.prompt_tokens - one.cached_tokens;
        longest_ms = std::max(longest_ms, first_token_ms(one));
        samples.first_token_ms.push_back(first_token_ms(one));
    }
    samples.prompt_tok_s.push_back(tokens / (longest_ms / 1e3));
    return {};
}

Status ModelBench::measure_generation(uint32_t batch, uint32_t depth, Samples& samples) {
    ETNA_CHECK(run(batch, depth, 1, plan_.generated_tokens));
    const std::vector<MeteredStep> steps = meter_->take();
    const auto span = generation_span(steps, batch);
    if (!span) {
        return Error{.kind = ErrorKind::out_of_memory,
                     .message = fmt::format("the cache does not hold {} sequences of {} tokens", batch,
                                            depth + plan_.generated_tokens),
                     .hint = "choose a smaller --batch or --depth"};
    }
    samples.generation_tok_s.push_back(static_cast<double>(span->tokens) / span->seconds);
    samples.host_us.push_back(span->host_us / static_cast<double>(span->tokens));
    samples.last = *span;
    return {};
}

Status ModelBench::generate(uint32_t batch, uint32_t depth) {
    const auto results = run(batch, depth, 1, plan_.generated_tokens);
    return results ? Status() : results.error();
}

Result<BenchRow> ModelBench::measure(uint32_t batch, uint32_t depth,
                                     const std::function<void(uint32_t repetition)>& progress) {
    ETNA_CHECK(check_batch(batch, engine_->limits()));
    Samples warm_up;
    Samples samples;
    for (uint32_t repetition = 0; repetition <= plan_.repetitions; ++repetition) {
        progress(repetition);
        Samples& target = repetition == 0 ? warm_up : samples;
        ETNA_CHECK(measure_prompt(batch, depth, target));
        ETNA_CHECK(measure_generation(batch, depth, target));
    }
    const auto per_token = [&](uint64_t count) {
        return static_cast<double>(count) / static_cast<double>(samples.last.tokens);
    };
    return BenchRow{.batch = batch,
                    .depth = depth,
                    .prompt_tok_s = spread_of(samples.prompt_tok_s),
                    .first_token_ms = spread_of(samples.first_token_ms),
                    .generation_tok_s = spread_of(samples.generation_tok_s),
                    .host_us = spread_of(samples.host_us),
                    .dispatches = per_token(samples.last.dispatches),
                    .barriers = per_token(samples.last.barriers),
                    .submits = per_token(samples.last.submits),
                    .recorded = per_token(samples.last.recorded),
                    .idle = per_token(samples.last.idle),
                    .step_weight_bytes = weights_.bytes(batch),
                    .row_weights = weights_.row_weights};
}

} // namespace etna::cli
