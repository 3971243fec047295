#pragma once

#include "core/kernels/delta_net.hpp"
#include "core/kernels/kv_cache.hpp"
#include "core/kernels/short_convolution.hpp"
#include "core/model/config.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

namespace etna::model {

/// What a layer with a gated delta net remembers of the sequences, by slot.
struct DeltaNetState {
    kernels::DeltaStates delta;
    kernels::ConvolutionRing ring;
};

/// What a layer remembers: keys and values by page, or states by slot. Each mixer names its alternative.
using LayerState = std::variant<kernels::LayerCache, DeltaNetState>;

/// Bytes of one slot of a layer with a gated delta net, in a buffer each.
struct DeltaNetBytes {
    uint64_t state = 0;   ///< copied with a slot
    uint64_t ring = 0;    ///< copied with a slot
    uint64_t pending = 0; ///< of the last step's rows, which a copy leaves out

    [[nodiscard]] uint64_t sum() const { return state + ring + pending; }
};

inline DeltaNetBytes slot_bytes(const DeltaNetConfig& net) {
    const uint64_t ring_length = kernels::convolution_ring_length(net.convolution_width);
    return {.state = kernels::delta_state_bytes(net.shape),
            .ring = ring_length * net.shape.qkv_columns() * sizeof(float),
            .pending = kernels::delta_pending_bytes(net.shape)};
}

} // namespace etna::model
