#include "core/kernels/operations/short_convolution.hpp"

#include "core/kernels/record.hpp"
#include "shaders/delta/arguments.h"

#include <bit>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::ShortConvolutionArguments) == 72);

/// The shader's indices are 32 bits.
bool ring_fits(const ConvolutionRing& ring, uint32_t channels) {
    const uint64_t floats = uint64_t{ring.slots} * ring.length * channels;
    return ring.slots > 0 && floats <= UINT32_MAX && ring.range.bytes >= floats * 4;
}

bool fits(const Launcher& launcher, const ShortConvolution& operation) {
    const Sequences& sequences = operation.sequences;
    const Activations& input = operation.input;
    const Activations& output = operation.output;
    const uint32_t channels = output.columns;
    const uint32_t parts = operation.kind == ConvolutionKind::gated ? 3 : 1;
    const auto check = [&](bool holds, std::string_view problem) {
        return require(launcher, holds, "short_convolution", problem);
    };
    return check(operation.width > 0 && operation.width <= convolution_width_max,
                 "width is 0 or too large") &&
           sequences_fit(launcher, "short_convolution", sequences) &&
           check(input.columns == parts * channels, "input and output do not match in width") &&
           check(input.range.bytes >= uint64_t{sequences.rows} * input.stride * 4 &&
                     output.range.bytes >= uint64_t{sequences.rows} * output.stride * 4,
                 "input or output is shorter than the batch") &&
           check(operation.weight.bytes >= uint64_t{channels} * operation.width * 4, "weight is short") &&
           check(!operation.bias || operation.bias->bytes >= uint64_t{channels} * 4, "bias is short") &&
           check(std::has_single_bit(operation.ring.length) &&
                     operation.ring.length >= convolution_ring_length(operation.width),
                 "the ring is too short") &&
           check(ring_fits(operation.ring, channels), "the ring is too large or shorter than its shape");
}

} // namespace

uint32_t convolution_ring_length(uint32_t width) {
    return std::bit_ceil(width - 1 + pending_rows_max);
}

void short_convolution(const Launcher& launcher, const ShortConvolution& operation) {
    const Sequences& sequences = operation.sequences;
    if (sequences.count == 0 || sequences.rows == 0 || !fits(launcher, operation))
        return;
    const Activations& input = operation.input;
    const Activations& output = operation.output;
    const vk::Range bias = operation.bias.value_or(vk::Range{});
    const shaders::ShortConvolutionArguments arguments{
        .sequences = sequences.infos.address,
        .x = input.range.address,
        .y = output.range.address,
        .weight = operation.weight.address,
        .bias = bias.address,
        .ring = operation.ring.range.address,
        .channels = output.columns,
        .x_stride = input.stride,
        .y_stride = output.stride,
        .ring_length = operation.ring.length,
        .slots = operation.ring.slots,
        .rows = sequences.rows,
    };
    launch(launcher,
           {.variant = shaders::short_convolution(),
            .specialization = {operation.width, operation.bias ? 1U : 0U,
                               operation.kind == ConvolutionKind::gated ? 1U : 0U},
            .groups = {divide_up(output.columns, 64), sequences.count, 1},
            .reads = {sequences.infos, input.rows(0, sequences.rows), operation.weight, bias},
            .writes = {output.rows(0, sequences.rows), operation.ring.range}},
           arguments);
}

} // namespace etna::kernels
