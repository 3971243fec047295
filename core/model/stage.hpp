#pragma once

#include <cstdint>
#include <string>

// The norms that watch for numbers that are none (kernels::Watch), in the order of the forward pass. What a
// stage sees was made by the part before it.
namespace etna::model {

constexpr uint32_t attention_stage(uint32_t layer) {
    return 2 * layer;
}
constexpr uint32_t feed_forward_stage(uint32_t layer) {
    return 2 * layer + 1;
}
constexpr uint32_t head_stage(uint32_t layers) {
    return 2 * layers;
}

/// The part whose output the stage was the first to see not finite: "the attention of layer 3".
/// kernels::no_stage, or any beyond the last: "the head".
std::string part_before(uint32_t stage, uint32_t layers);

} // namespace etna::model
