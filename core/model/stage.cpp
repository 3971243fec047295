#include "core/model/stage.hpp"

#include <fmt/format.h>

namespace etna::model {

std::string part_before(uint32_t stage, uint32_t layers) {
    if (stage > head_stage(layers))
        return "the head";
    if (stage == 0)
        return "the token embedding";
    const uint32_t layer = (stage - 1) / 2;
    return fmt::format("{} of layer {}",
                       stage == feed_forward_stage(layer) ? "the attention" : "the feed-forward part", layer);
}

} // namespace etna::model
