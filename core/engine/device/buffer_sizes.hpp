#pragma once

#include "core/engine/executor.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/library.hpp"
#include "core/model/config.hpp"

#include <cstdint>
#include <vector>

// The sizes of a model's buffers, for the plan of its memory and for their creation.
namespace etna::engine {

/// Bytes of the buffers of one step.
struct StepBytes {
    uint64_t inputs = 0;  ///< bytes packed by StepInputs: in upload memory, and on the device
    uint64_t results = 0; ///< kernels::SampleResult [output_rows_max]
    uint64_t logits = 0;  ///< f32 [output_rows_max, vocabulary]
    uint64_t hidden = 0;  ///< f32 [batch_rows_max, width]
};
StepBytes step_bytes(const model::Config& config, const Limits& limits);

/// Returns the sizes of the buffers for a layer's state: those of keys and values, or of
/// model::MixerConfig::parts(); none if the layer reads another layer's buffers.
std::vector<uint64_t> layer_buffer_bytes(const model::LayerConfig& layer, const Limits& limits,
                                         kernels::CacheFormats formats);

/// Whether device memory is the host's: upload and readback memory then comes from it too.
[[nodiscard]] inline bool uses_host_memory(const kernels::PlanTarget& target) {
    return target.profile.unified_memory || target.profile.type == vk::DeviceType::cpu;
}

} // namespace etna::engine
