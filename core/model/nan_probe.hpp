#pragma once

#include <cstdint>
#include <string>

// NaN probes (kernels::NanProbe), numbered in forward order. Each checks the input of a norm for values that
// are not finite, so a hit blames the block before it.
namespace etna::model {

constexpr uint32_t attention_nan_probe(uint32_t layer) {
    return 2 * layer;
}
constexpr uint32_t feed_forward_nan_probe(uint32_t layer) {
    return 2 * layer + 1;
}
constexpr uint32_t head_nan_probe(uint32_t layers) {
    return 2 * layers;
}

/// Names the block whose output was the first that is not finite, given the probe that fired: "the attention
/// of layer 3". kernels::no_nan_probe, or any number beyond the last probe: "the head".
std::string block_before_probe(uint32_t nan_probe, uint32_t layers);

} // namespace etna::model
