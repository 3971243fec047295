#pragma once

#include <cstdint>
#include <string>

// NaN probes (kernels::Watch), numbered in forward order. Each checks the input of a norm for values that are
// not finite, so a hit blames the block before it.
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

/// Names the block whose output was the first that is not finite, given the stage that saw it: "the attention
/// of layer 3". kernels::no_stage, or any beyond the last: "the head".
std::string part_before(uint32_t stage, uint32_t layers);

} // namespace etna::model
