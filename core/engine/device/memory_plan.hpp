#pragma once

#include "core/engine/device/device_plan.hpp"
#include "core/engine/executor.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
#include "core/model/config.hpp"
#include "core/model/model.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::engine {

/// The content of a part of a model's memory.
enum class MemoryKind : uint8_t {
    weights,
    cache,       ///< keys and values
    states,      ///< recurrent states of running sequences
    snapshots,   ///< recurrent states that later sequences start from
    activations, ///< rows of a step
    scratch,     ///< partial results of kernels
    inputs,      ///< of steps
    outputs,     ///< of steps
    unused,      ///< blocks from the driver that no buffer fills
};
std::string_view to_string(MemoryKind kind);

/// The heap that memory is on. Everything is on `device` if the device uses the host's memory.
enum class MemoryPlace : uint8_t { device, host };

struct MemoryUse {
    MemoryKind kind = MemoryKind::weights;
    std::string detail; ///< weights: their layout; cache: its layers; empty for the others
    MemoryPlace place = MemoryPlace::device;
    uint64_t bytes = 0;
};

/// The memory that a model takes, by kind. The driver needs more, for pipelines and for itself.
struct MemoryPlan {
    std::vector<MemoryUse> uses; ///< ordered by kind

    /// Bytes of buffers, as vk::AllocatedMemory counts them.
    [[nodiscard]] uint64_t used_bytes(MemoryPlace place) const;
    /// Bytes from the driver.
    [[nodiscard]] uint64_t reserved_bytes(MemoryPlace place) const;
    [[nodiscard]] uint64_t reserved_bytes() const {
        return reserved_bytes(MemoryPlace::device) + reserved_bytes(MemoryPlace::host);
    }
};

/// Lists the memory that loading a model with this plan takes on a device of `target`, without staging
/// memory, which is freed. Pure.
MemoryPlan plan_memory(const model::Blueprint& blueprint, const kernels::PlanTarget& target,
                       const DevicePlan& plan);

/// plan_device() for a model's file, after place_experts() for its blueprint. If the model fits, or needs no
/// experts in host memory, only without its draft head, plans it again without the head. An error's hint
/// names the bytes that the model would need in Q4_K_M, if that fits. Pure. Errors: those of plan_device();
/// out_of_memory (experts in host memory do not fit there; DeviceSizes::context_tokens_min).
Result<DevicePlan> plan_load(const gguf::File& file, model::Blueprint& blueprint,
                             const kernels::PlanTarget& target, const DeviceSizes& sizes,
                             const vk::MemoryState& memory);

} // namespace etna::engine
