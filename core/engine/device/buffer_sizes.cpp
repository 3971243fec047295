#include "core/engine/device/buffer_sizes.hpp"

#include "core/engine/device/step_inputs.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/model/layer_state.hpp"

namespace etna::engine {

StepBytes step_bytes(const model::Config& config, const Limits& limits) {
    return {.inputs = step_input_bytes(limits, config.rotary_dims_max(), config.cache_groups.size()),
            .results = (limits.has_draft_head ? 2 : 1) *
                       uint64_t{limits.output_rows_max} * // drafts after outputs
                       sizeof(kernels::SampleResult),
            .logits = uint64_t{limits.output_rows_max} * limits.vocabulary * sizeof(float),
            .hidden = uint64_t{limits.batch_rows_max} * limits.width * sizeof(float)};
}

std::vector<uint64_t> layer_buffer_bytes(const model::LayerConfig& layer, const Limits& limits,
                                         kernels::CacheFormats formats) {
    if (const model::AttentionConfig* attention = layer.attention()) {
        if (attention->keys_of)
            return {};
        const model::CacheBytes bytes = model::cache_bytes(
            model::layer_cache(*attention, formats, limits.groups[attention->group].page_count));
        if (attention->latent)
            return {bytes.keys};
        return {bytes.keys, bytes.values};
    }
    std::vector<uint64_t> parts;
    for (const model::StatePart& part : layer.mixer.parts())
        parts.push_back(limits.state_slots * part.slot_bytes);
    return parts;
}

} // namespace etna::engine
