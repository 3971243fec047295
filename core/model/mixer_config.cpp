#include "core/model/mixer_config.hpp"

#include "core/model/mixer.hpp"

namespace etna::model {

void DeleteMixer::operator()(Mixer* mixer) const {
    delete mixer; // NOLINT(cppcoreguidelines-owning-memory): this is the deleter
}

OwnedMixer MixerConfig::make(const Weights& weights, const Config& config, uint32_t layer) const {
    return held_ ? held_->make(weights, config, layer) : nullptr;
}

} // namespace etna::model
