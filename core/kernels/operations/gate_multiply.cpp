#include "core/kernels/operations/gate_multiply.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/activation/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::GateMultiplyArguments) == 88);

bool fits(const Launcher& launcher, const GateMultiply& operation) {
    if (!require(launcher, operation.gate.columns == operation.up.columns, "gate_multiply",
                 "gate and up differ in width"))
        return false;
    const uint64_t end = uint64_t{operation.first} + operation.count;
    if (operation.packed &&
        (!require(launcher, operation.gate.columns % tile_columns == 0, "gate_multiply",
                  "columns are no multiple of 256") ||
         !require(launcher, operation.gate.packed.bytes >= end * packed_row_bytes(operation.gate.columns),
                  "gate_multiply", "the packed form is shorter than the rows")))
        return false;
    if (operation.row_gate &&
        !require(launcher, operation.row_gate->range.bytes >= end * operation.row_gate->stride * 4,
                 "gate_multiply", "the gates of rows are fewer than rows"))
        return false;
    if (!operation.biases)
        return true;
    const GateBiases& biases = *operation.biases;
    const uint64_t bytes = uint64_t{biases.expert_count} * operation.gate.columns * 4;
    const uint64_t rows = uint64_t{operation.first} + operation.count;
    return require(launcher,
                   biases.expert_count > 0 && biases.gate.bytes >= bytes && biases.up.bytes >= bytes,
                   "gate_multiply", "biases are shorter than their shape") &&
           require(launcher, biases.experts.bytes >= rows * 4, "gate_multiply",
                   "experts are fewer than rows");
}

} // namespace

void gate_multiply(const Launcher& launcher, const GateMultiply& operation) {
    if (operation.count == 0 || !fits(launcher, operation))
        return;
    const vk::Range gate = operation.gate.rows(operation.first, operation.count);
    const vk::Range up = operation.up.rows(operation.first, operation.count);
    GateBiases biases{.gate = up, .up = up, .experts = up, .expert_count = 1}; // never null: see sample.cpp
    if (operation.biases) {
        biases = *operation.biases;
        biases.experts = biases.experts.part(uint64_t{operation.first} * 4, uint64_t{operation.count} * 4);
    }
    const vk::Range packed =
        operation.packed ? operation.gate.packed_rows(operation.first, operation.count) : vk::Range{};
    const vk::Range row_gate =
        operation.row_gate ? operation.row_gate->rows(operation.first, operation.count) : up;
    const vk::Range written = operation.packed ? packed : gate;
    const shaders::GateMultiplyArguments arguments{
        .gate = gate.address,
        .up = up.address,
        .gate_bias = biases.gate.address,
        .up_bias = biases.up.address,
        .experts = biases.experts.address,
        .words = written.address,
        .floats = written.address,
        .row_gate = row_gate.address,
        .columns = operation.gate.columns,
        .gate_stride = operation.gate.stride / 4,
        .up_stride = operation.up.stride / 4,
        .expert_count = biases.expert_count,
        .row_gate_stride = operation.row_gate ? operation.row_gate->stride : 0,
        .unused = 0,
    };
    launch(launcher,
           {.variant = shaders::gate_multiply(),
            .specialization = {static_cast<uint32_t>(operation.kind), operation.biases ? 1U : 0U,
                               operation.packed ? written_blocks(launcher.target()) : 0U,
                               operation.row_gate ? 1U : 0U, operation.is_alone ? 1U : 0U},
            .groups = {divide_up(operation.gate.columns, 256), operation.count, 1},
            .reads = {up, biases.gate, biases.up, biases.experts, row_gate},
            .writes = {gate, packed}},
           arguments);
    if (operation.packed)
        launcher.note_packed(operation.gate, PackedForm::blocks, operation.first, operation.count);
}

} // namespace etna::kernels
