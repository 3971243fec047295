#include "core/model/layer_state.hpp"

#include <cassert>

namespace etna::model {
namespace {

std::vector<StatePart> parts_of(const AttentionConfig&) {
    return {};
}

std::vector<StatePart> parts_of(const DeltaNetConfig& net) {
    const uint64_t ring_length = kernels::convolution_ring_length(net.convolution_width);
    return {
        {.name = "delta states", .slot_bytes = kernels::delta_state_bytes(net.shape)},
        {.name = "convolution ring", .slot_bytes = ring_length * net.shape.qkv_columns() * sizeof(float)},
        {.name = "pending rows", .slot_bytes = kernels::delta_pending_bytes(net.shape), .is_copied = false}};
}

std::vector<StatePart> parts_of(const ShortConvolutionConfig& convolution) {
    return {{.name = "convolution ring",
             .slot_bytes = uint64_t{kernels::convolution_ring_length(convolution.width)} *
                           convolution.channels * sizeof(float)}};
}

std::vector<StatePart> parts_of(const Mamba2Config& mamba) {
    const uint64_t ring_length = kernels::convolution_ring_length(mamba.convolution_width);
    return {
        {.name = "Mamba states", .slot_bytes = kernels::mamba2_state_bytes(mamba.shape)},
        {.name = "convolution ring", .slot_bytes = ring_length * mamba.shape.xbc_columns() * sizeof(float)},
        {.name = "pending rows",
         .slot_bytes = kernels::mamba2_pending_bytes(mamba.shape),
         .is_copied = false}};
}

std::vector<StatePart> parts_of(const NoMixer&) {
    return {};
}

LayerState state_of(const AttentionConfig&, std::span<const vk::Range>, uint32_t) {
    assert(false); // keys and values are not in slots
    return kernels::LayerCache{};
}

LayerState state_of(const DeltaNetConfig& net, std::span<const vk::Range> buffers, uint32_t slots) {
    return DeltaNetState{.delta = {.states = buffers[0], .pending = buffers[2], .slots = slots},
                         .ring = {.range = buffers[1],
                                  .slots = slots,
                                  .length = kernels::convolution_ring_length(net.convolution_width)}};
}

LayerState state_of(const ShortConvolutionConfig& convolution, std::span<const vk::Range> buffers,
                    uint32_t slots) {
    return ShortConvolutionState{.ring = {.range = buffers[0],
                                          .slots = slots,
                                          .length = kernels::convolution_ring_length(convolution.width)}};
}

LayerState state_of(const Mamba2Config& mamba, std::span<const vk::Range> buffers, uint32_t slots) {
    return Mamba2State{.mamba = {.states = buffers[0], .pending = buffers[2], .slots = slots},
                       .ring = {.range = buffers[1],
                                .slots = slots,
                                .length = kernels::convolution_ring_length(mamba.convolution_width)}};
}

LayerState state_of(const NoMixer&, std::span<const vk::Range>, uint32_t) {
    return NoState{};
}

} // namespace

std::vector<StatePart> state_parts(const LayerConfig& layer) {
    return std::visit([](const auto& mixer) { return parts_of(mixer); }, layer.mixer);
}

LayerState slot_state(const LayerConfig& layer, std::span<const vk::Range> buffers, uint32_t slots) {
    assert(buffers.size() == state_parts(layer).size());
    return std::visit([&](const auto& mixer) { return state_of(mixer, buffers, slots); }, layer.mixer);
}

} // namespace etna::model
