#include "core/model/nan_probe.hpp"

#include <fmt/format.h>

namespace etna::model {

std::string block_before_probe(uint32_t nan_probe, uint32_t layers) {
    if (nan_probe > head_nan_probe(layers))
        return "the head";
    if (nan_probe == 0)
        return "the token embedding";
    const uint32_t layer = (nan_probe - 1) / 2;
    return fmt::format("{} of layer {}",
                       nan_probe == feed_forward_nan_probe(layer) ? "the attention" : "the feed-forward part",
                       layer);
}

} // namespace etna::model
