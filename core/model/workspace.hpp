#pragma once

#include "core/base/result.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
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
};

/// One buffer of a Workspace.
struct WorkspaceBuffer {
    enum class Kind : uint8_t {
        activations, ///< rows of a step
        scratch,     ///< partial results of kernels
    };
    Kind kind = Kind::activations;
    uint64_t bytes = 0;
};

/// The buffers of a Workspace, in the order in which they are created. Pure.
std::vector<WorkspaceBuffer> workspace_buffers(const Config& config, const kernels::PlanTarget& target,
                                               const WorkspaceOptions& options);

/// Device bytes that a Workspace takes. Pure.
uint64_t workspace_bytes(const Config& config, const kernels::PlanTarget& target,
                         const WorkspaceOptions& options);

/// Rows in a separate buffer.
struct RowBuffer {
    const vk::Buffer& buffer;
    kernels::Activations rows;
};

/// Owns the scratch memory of a model's steps, initially all zero (padding must stay zero). Steps on one
/// device run sequentially, so one is enough. Must not outlive the device.
class Workspace {
public:
    /// Blocks until the memory is zero. Errors: out_of_memory, device_lost.
    static Result<Workspace> create(vk::Device& device, const Config& config,
                                    const kernels::PlanTarget& target, const WorkspaceOptions& options);

    [[nodiscard]] const Activations& activations() const { return activations_; }
    /// The rows of Activations::logits and Activations::hidden, for copies.
    [[nodiscard]] RowBuffer logits() const { return {buffers_[logits_buffer_], activations_.logits}; }
    [[nodiscard]] RowBuffer hidden() const { return {buffers_[hidden_buffer_], activations_.hidden}; }

private:
    Activations activations_;
    std::vector<vk::Buffer> buffers_;
    std::size_t logits_buffer_ = 0;
    std::size_t hidden_buffer_ = 0;
};

} // namespace etna::model
