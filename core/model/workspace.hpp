#pragma once

#include "core/base/result.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
#include "core/model/arena.hpp"
#include "core/model/config.hpp"
#include "core/model/step.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <vector>

namespace etna::model {

struct WorkspaceOptions {
    uint32_t batch_rows_max = 0;
    uint32_t output_rows_max = 0;
    uint32_t context_tokens = 0;
    uint32_t slots = 0;
    kernels::CacheFormats cache_formats = {};

    bool operator==(const WorkspaceOptions&) const = default;
};

/// One buffer of a Workspace.
struct WorkspaceBuffer {
    enum class Kind : uint8_t {
        activations, ///< that blocks hand to each other
        scratch,     ///< of the arena
    };
    Kind kind = Kind::activations;
    uint64_t bytes = 0;
};

/// The memory of a model's steps.
struct WorkspacePlan {
    WorkspaceOptions options;
    ArenaSizes arena; ///< of the largest steps: arena_sizes()
};

/// The buffers of a Workspace, in the order in which they are created. Pure.
std::vector<WorkspaceBuffer> workspace_buffers(const Config& config, const kernels::PlanTarget& target,
                                               const WorkspacePlan& plan);

/// Device bytes that a Workspace takes. Pure.
uint64_t workspace_bytes(const Config& config, const kernels::PlanTarget& target, const WorkspacePlan& plan);

/// Activations of steps within `options` over made-up addresses, for dry recordings.
Activations dry_activations(const Config& config, const kernels::PlanTarget& target,
                            const WorkspaceOptions& options);

/// Rows in a separate buffer.
struct RowBuffer {
    const vk::Buffer& buffer;
    kernels::Activations rows;
};

/// Owns the memory of a model's steps. Steps on one device run sequentially, so one is enough. Must not
/// outlive the device.
class Workspace {
public:
    /// Blocks until the memory is initialised: zero, but where an arena may hold anything NaN, so that a
    /// kernel that reads what no other wrote is noticed. Errors: out_of_memory, device_lost.
    static Result<Workspace> create(vk::Device& device, const Config& config,
                                    const kernels::PlanTarget& target, const WorkspacePlan& plan);

    [[nodiscard]] const Activations& activations() const { return activations_; }
    /// The arena of one step, from its start.
    [[nodiscard]] Arena arena() const { return {buffers_.back().range(), arena_sizes_}; }
    /// The rows of Activations::logits and Activations::hidden, for copies.
    [[nodiscard]] RowBuffer logits() const { return {buffers_[logits_buffer_], activations_.logits}; }
    [[nodiscard]] RowBuffer hidden() const { return {buffers_[hidden_buffer_], activations_.hidden}; }

private:
    Activations activations_;
    ArenaSizes arena_sizes_;
    std::vector<vk::Buffer> buffers_; ///< the arena's last
    std::size_t logits_buffer_ = 0;
    std::size_t hidden_buffer_ = 0;
};

} // namespace etna::model
