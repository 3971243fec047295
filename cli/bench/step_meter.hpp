#pragma once

#include "core/engine/executor.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace etna::cli {

/// One step of an engine, noted when its outputs have been read.
struct MeteredStep {
    std::chrono::steady_clock::time_point done_at;
    double host_us = 0; ///< CPU time of the engine's thread since it began; the device's work on a CPU driver
                        ///< runs in other threads
    uint32_t prompt_rows = 0;
    uint32_t generation_rows = 0;
    uint32_t dispatches = 0;  ///< 0: unknown
    uint32_t barriers = 0;    ///< 0: unknown
    bool is_repeated = false; ///< engine::Outputs'
    bool found_idle = false;  ///< engine::Outputs'
};

/// The steps of an engine, in order. Thread-safe.
class StepMeter {
public:
    void add(const MeteredStep& step);

    /// Returns the steps since the last call, and forgets them.
    std::vector<MeteredStep> take();

private:
    std::mutex mutex_;
    std::vector<MeteredStep> steps_;
};

/// Wraps an executor so that every step is noted in `meter`.
std::unique_ptr<engine::Executor> metered(std::unique_ptr<engine::Executor> executor,
                                          std::shared_ptr<StepMeter> meter);

/// The generation of one batch, without its first step: the steps while all sequences generate.
struct GenerationSpan {
    uint64_t tokens = 0;
    uint64_t submits = 0;
    uint64_t dispatches = 0;
    uint64_t barriers = 0;
    uint64_t recorded = 0; ///< steps whose commands were recorded for them
    uint64_t idle = 0;     ///< steps that found the device with nothing to do
    double seconds = 0;
    double host_us = 0;
};

/// Sums up the longest run of steps that hold one generation row of each of `batch` sequences and nothing
/// else. Empty if no two such steps follow each other.
std::optional<GenerationSpan> generation_span(std::span<const MeteredStep> steps, uint32_t batch);

} // namespace etna::cli
