#pragma once

#include "core/kernels/operations/short_convolution.hpp"
#include "core/model/layer_state.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etna::model {

/// The state of a layer with a short convolution before a recurrence, by slot.
struct RecurrentState {
    kernels::RecurrentStates recurrence;
    kernels::ConvolutionRing ring;
};

/// Bytes of a slot of the recurrence, and of its pending rows.
struct RecurrentBytes {
    std::string_view name; ///< of the states; static
    uint64_t states = 0;
    uint64_t pending = 0;
};

/// The ring of a convolution over `channels`.
StatePart convolution_part(uint32_t channels, uint32_t convolution_width);
/// The ring in the buffer of convolution_part().
kernels::ConvolutionRing convolution_ring(const LayerState& state, std::size_t part,
                                          uint32_t convolution_width);

std::vector<StatePart> recurrent_parts(const RecurrentBytes& bytes, uint32_t channels,
                                       uint32_t convolution_width);
/// The state in the buffers of recurrent_parts().
RecurrentState recurrent_state(const LayerState& state, uint32_t convolution_width);

} // namespace etna::model
