#include "core/model/blocks/recurrence.hpp"

namespace etna::model {
namespace {

// Order of recurrent_parts().
constexpr std::size_t states_part = 0;
constexpr std::size_t ring_part = 1;
constexpr std::size_t pending_part = 2;

} // namespace

StatePart convolution_part(uint32_t channels, uint32_t convolution_width) {
    const uint64_t ring_length = kernels::convolution_ring_length(convolution_width);
    return {.name = "convolution ring", .slot_bytes = ring_length * channels * sizeof(float)};
}

kernels::ConvolutionRing convolution_ring(const LayerState& state, std::size_t part,
                                          uint32_t convolution_width) {
    return {.range = state.parts[part],
            .slots = state.slots,
            .length = kernels::convolution_ring_length(convolution_width)};
}

std::vector<StatePart> recurrent_parts(const RecurrentBytes& bytes, uint32_t channels,
                                       uint32_t convolution_width) {
    return {{.name = bytes.name, .slot_bytes = bytes.states},
            convolution_part(channels, convolution_width),
            {.name = "pending rows", .slot_bytes = bytes.pending, .is_copied = false}};
}

RecurrentState recurrent_state(const LayerState& state, uint32_t convolution_width) {
    return {.recurrence = {.states = state.parts[states_part],
                           .pending = state.parts[pending_part],
                           .slots = state.slots},
            .ring = convolution_ring(state, ring_part, convolution_width)};
}

} // namespace etna::model
