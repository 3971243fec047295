#pragma once

#include "core/base/result.hpp"
#include "core/engine/device/device_plan.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/gguf/file.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/executor_factory.hpp"

#include <optional>

namespace etna::runtime {

using engine::short_context_tokens;

/// The memory that a model takes on a device, before it is loaded.
struct MemoryForecast {
    engine::DevicePlan plan;
    engine::MemoryPlan memory;
    /// out_of_memory if the model does not fit: `plan` is then made as if memory were plentiful, for one
    /// context.
    std::optional<Error> shortage = std::nullopt;
};

/// Plans as Runtime::load() would, with the device's free memory as reported. Pure: needs no device and reads
/// no weights. Errors: those of model::plan_model(), invalid_argument (options contradict each other, or
/// ExecutorOptions::plan_as is unknown), out_of_memory (more than any memory of the device could hold).
Result<MemoryForecast> forecast_memory(const gguf::File& file, const DeviceReport& device,
                                       const ExecutorOptions& options);

/// The sizes of a model that is loaded with these options.
engine::DeviceSizes device_sizes(const ExecutorOptions& options);

} // namespace etna::runtime
