#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"
#include "core/runtime/device_file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace etna::runtime {

/// What a device does per second, as far as it bounds the speed of a model.
struct DeviceRates {
    double copy_bytes_s = 0;  ///< see measure_copy_rate()
    double matrix_flop_s = 0; ///< see kernels::measure_matrix_rate()
    double dispatch_us = 0;   ///< of a dispatch that does almost nothing, with the barrier after it
};

/// Called before each measurement.
using RateProgress = std::function<void(std::string_view what)>;

struct RateRequest {
    std::string device;                 ///< as for ExecutorOptions
    std::filesystem::path cache_folder; ///< empty: nothing is stored
    RateProgress progress;              ///< may be empty
};

/// Measures the rates of a device, and stores the best so far: other work makes a device slower.
using RateMeter = std::function<Result<DeviceRates>(const RateRequest&)>;

/// Takes seconds. Blocks; other work on the device makes it slower. Errors: those of measure_copy_rate(),
/// kernels::measure_matrix_rate() and kernels::measure_kernel().
Result<DeviceRates> measure_rates(kernels::Library& library, const RateProgress& progress);

/// Returns the better one of each rate. Pure.
DeviceRates best_of(const DeviceRates& one, const DeviceRates& other);

/// The rates in a device's file of the cache folder; empty if there are none.
std::optional<DeviceRates> read_rates(const DeviceFile& file);
void write_rates(const DeviceFile& file, const DeviceRates& rates);

/// The work of a model for one token.
struct TokenCost {
    double bytes = 0;      ///< of weights that generation reads
    double dispatches = 0; ///< of a generation step
    double weights = 0;    ///< that a row of a prompt is multiplied by
};

/// Tokens per second of one sequence with an empty context.
struct SpeedEstimate {
    double generation_tok_s = 0;
    double prompt_tok_s = 0; ///< with all matrix units busy, which no kernel reaches
};

/// A token of an answer takes as long as reading its weights, or multiplying by them, whichever is slower,
/// and its dispatches. Pure. Preconditions: rates and costs are positive.
SpeedEstimate estimate_speed(const DeviceRates& rates, const TokenCost& cost);

} // namespace etna::runtime
