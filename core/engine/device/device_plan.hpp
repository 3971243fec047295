#pragma once

#include "core/base/result.hpp"
#include "core/engine/executor.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
#include "core/model/config.hpp"
#include "core/model/expert_placement.hpp"
#include "core/model/plan.hpp"
#include "core/model/workspace.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace etna::engine {

/// A context that most prompts fit into: cache formats and placements of experts that leave less are avoided.
constexpr uint32_t short_context_tokens = 8192;

/// Requested sizes of a model on a device; 0 selects the default in the comment.
struct DeviceSizes {
    uint32_t context_tokens = 0; ///< maximum sequence length; the model's, capped by memory
    kernels::CacheFormats cache_formats = {};
    /// F16 becomes Q8_0 if the requested or the model's own context then fits and otherwise does not, or if
    /// F16 leaves fewer than 8,192 tokens. Longer contexts that F16 cuts stay exact: few prompts reach their
    /// end.
    bool adapts_cache_formats = false;
    uint64_t kv_memory_bytes = 0;   ///< for keys and values; what `contexts` contexts need
    uint64_t state_cache_bytes = 0; ///< for recurrent states that later sequences start from, at least one;
                                    ///< an eighth of what keys and values get; without layers that have any,
                                    ///< up to four for each of sequences_max
    uint32_t contexts = 1;          ///< those beyond the first only from half of the memory that is free
    uint32_t batch_rows_max = 0;    ///< rows in one batch; 512 on GPUs, 64 on CPU devices
    uint32_t sequences_max =
        64; ///< with recurrent layers, fewer if their states take over a quarter of free memory
    uint32_t embeddings_max = 0; ///< see Limits
    bool has_draft_head = true;  ///< use the draft head of a file that has one
    /// Limit on the model's memory, on the device and in host memory; the free memory, if that is less.
    uint64_t memory_bytes_max = UINT64_MAX;
    /// plan_load() does not cut the model's own context below this.
    uint32_t context_tokens_min = 0;
    /// Layers whose experts lie in host memory; none: as few as let the model fit, on a device with memory of
    /// its own.
    std::optional<uint32_t> host_expert_layers = std::nullopt;
};

/// Memory budget of a model, computed before anything is allocated.
struct DevicePlan {
    uint64_t weight_bytes = 0;
    model::HostExperts host_experts; ///< set by plan_load()
    model::WeightReads weight_reads; ///< set by create_device_executor()
    uint64_t cache_bytes = 0;        ///< keys and values
    uint64_t state_bytes = 0;        ///< recurrent states
    uint64_t workspace_bytes = 0;    ///< activations and scratch; inputs and outputs on the device
    uint64_t free_bytes = 0;         ///< free memory of the device, before loading
    uint64_t reserve_bytes = 0;      ///< of free_bytes, left for the driver and for other programs
    uint32_t model_context_tokens = 0;
    kernels::CacheFormats cache_formats = {};
    Limits limits; ///< context_tokens, sequences_max, state_slots and groups hold the chosen values
    model::WorkspacePlan workspace;
};

/// The scratch memory of a model's steps: model::arena_sizes().
using SizeArena = std::function<Result<model::ArenaSizes>(const model::WorkspaceOptions& options)>;

/// Part of a device's free memory that is left for the driver and for other programs.
uint64_t reserve_bytes(uint64_t free_bytes);

/// Fits a model into the free memory of a device, minus a margin. Pure. `name` identifies the model in
/// errors. Errors: out_of_memory (with the bytes needed and free), invalid_argument (a size contradicts
/// another), those of `size_arena`.
Result<DevicePlan> plan_device(std::string_view name, const model::Config& config,
                               const kernels::PlanTarget& target, const DeviceSizes& sizes,
                               uint64_t weight_bytes, const vk::MemoryState& memory,
                               const SizeArena& size_arena);

} // namespace etna::engine
