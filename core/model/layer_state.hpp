#pragma once

#include "core/kernels/delta_net.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/mamba2.hpp"
#include "core/kernels/short_convolution.hpp"
#include "core/model/config.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::model {

/// The state of a gated delta net layer, by slot.
struct DeltaNetState {
    kernels::DeltaStates delta;
    kernels::ConvolutionRing ring;
};

/// The state of a short convolution layer, by slot.
struct ShortConvolutionState {
    kernels::ConvolutionRing ring;
};

/// The state of a Mamba 2 layer, by slot.
struct Mamba2State {
    kernels::Mamba2States mamba;
    kernels::ConvolutionRing ring;
};

/// A layer without a mixer remembers nothing.
struct NoState {};

/// The state of a layer: keys and values by page, or states by slot. Each mixer names its alternative.
using LayerState =
    std::variant<kernels::LayerCache, DeltaNetState, ShortConvolutionState, Mamba2State, NoState>;

/// A buffer of a recurrent layer's states.
struct StatePart {
    std::string_view name; ///< static
    uint64_t slot_bytes = 0;
    bool is_copied = true; ///< with a slot; false: only the next step reads it
};

/// The buffers of a layer's states; none if the layer has keys and values instead.
std::vector<StatePart> state_parts(const LayerConfig& layer);

/// The states of a layer in `slots` slots. `buffers` are those of state_parts(), which are not none.
LayerState slot_state(const LayerConfig& layer, std::span<const vk::Range> buffers, uint32_t slots);

} // namespace etna::model
