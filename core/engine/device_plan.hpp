#pragma once

#include "core/base/result.hpp"
#include "core/engine/executor.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/operations.hpp"
#include "core/model/config.hpp"
#include "core/model/workspace.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <string_view>

namespace etna::engine {

/// How a model shall use a device; 0 means the default in the comment.
struct DeviceSizes {
    uint32_t context_tokens = 0; ///< longest sequence; the model's, capped by memory
    kernels::CacheFormats cache_formats = {};
    uint64_t kv_memory_bytes = 0; ///< for keys and values; what `contexts` of them need
    uint32_t contexts = 1;        ///< the second and further ones only from half of the memory that is free
    uint32_t rows_max = 0;        ///< rows in one batch; 512 on GPUs, 64 on CPU devices
    uint32_t sequences_max = 64;
};

/// Where a model's bytes go, before anything is allocated.
struct DevicePlan {
    uint64_t weight_bytes = 0;
    uint64_t cache_bytes = 0;
    uint64_t workspace_bytes = 0; ///< activations, inputs and outputs
    uint64_t free_bytes = 0;      ///< of the device, before
    uint32_t model_context_tokens = 0;
    Limits limits; ///< context_tokens and groups say what was chosen
    model::WorkspaceOptions workspace;
};

/// Fits a model into what is free on a device, less a margin. Pure. `name` stands for the model in errors.
/// Errors: out_of_memory (with what is needed and what is free), invalid_argument (a size contradicts
/// another).
Result<DevicePlan> plan_device(std::string_view name, const model::Config& config,
                               const kernels::PlanTarget& target, const DeviceSizes& sizes,
                               uint64_t weight_bytes, const vk::MemoryState& memory);

} // namespace etna::engine
