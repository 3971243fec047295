#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/sequences.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// The last inputs of each sequence. Nothing is pending here: a rejected draft is overwritten by the next row
/// at its position.
struct ConvolutionRing {
    vk::Range range = {}; ///< f32 [slots][length][channels]; position p is at p % length
    uint32_t slots = 0;
    uint32_t length = 0; ///< convolution_ring_length() or a larger power of two
};
/// The shortest ring that holds every input needed whichever drafts are rejected.
uint32_t convolution_ring_length(uint32_t width);
constexpr uint32_t convolution_width_max = 8;

/// From a row's sum to its output.
enum class ConvolutionKind : uint8_t {
    silu,
    /// A row of the input holds b | c | x of all channels: the convolution is of b x, and y = c sum (LFM2,
    /// transformers, modeling_lfm2.py).
    gated,
};

/// y[r][c] = silu(bias[c] + sum_d weight[c][d] x[position(r) - width + 1 + d][c]), silu(x) = x / (1 +
/// exp(-x)), for the rows of each sequence; x before position 0 is zero. Source: arXiv 2312.00752,
/// section 3.4.
struct ShortConvolution {
    Sequences sequences = {};
    Activations input = {};             ///< [rows, channels], gated [rows, 3 channels]
    Activations output = {};            ///< [rows, channels], not the input
    vk::Range weight = {};              ///< f32 [channels][width], as GGUF files store ssm_conv1d
    std::optional<vk::Range> bias = {}; ///< f32 [channels]
    ConvolutionRing ring;
    uint32_t width = 4; ///< at most convolution_width_max
    ConvolutionKind kind = ConvolutionKind::silu;
};
void short_convolution(const Launcher& launcher, const ShortConvolution& operation);

extern const Operation short_convolution_operation;

} // namespace etna::kernels
