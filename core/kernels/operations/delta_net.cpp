#include "core/kernels/operations/delta_net.hpp"

#include "core/kernels/record.hpp"
#include "shaders/delta/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::DeltaNetArguments) == 120);

/// Without the two halves.
uint64_t pending_row_floats(const DeltaShape& shape) {
    return uint64_t{shape.key_heads} * shape.key_dim + shape.output_columns() + shape.value_heads;
}

uint32_t gate_run(const DeltaNet& operation) {
    return operation.gate_run == 0 ? operation.shape.value_heads : operation.gate_run;
}

bool shape_fits(const Launcher& launcher, const DeltaShape& shape) {
    return require(launcher,
                   shape.key_heads > 0 && shape.value_heads > 0 && shape.value_heads % shape.key_heads == 0,
                   "delta_net", "the number of value heads is not a multiple of that of key heads") &&
           require(launcher, shape.key_dim > 0 && shape.key_dim <= delta_key_dim_max && shape.value_dim > 0,
                   "delta_net", "head size is 0 or too large");
}

bool gate_fits(const DeltaNet& operation, const DeltaGate& gate) {
    const uint32_t run = gate_run(operation);
    const uint32_t heads = operation.shape.value_heads;
    return heads % run == 0 && gate.rows.columns >= gate.first + (heads / run * 2 - 1) * run &&
           gate.rows.range.bytes >= uint64_t{operation.sequences.rows} * gate.rows.stride * 4;
}

bool rows_fit(const Launcher& launcher, const DeltaNet& operation) {
    const Sequences& sequences = operation.sequences;
    const uint64_t head_bytes = uint64_t{operation.shape.value_heads} * 4;
    const auto fits = [&](const Activations& rows, uint32_t columns) {
        return rows.columns == columns && rows.range.bytes >= uint64_t{sequences.rows} * rows.stride * 4;
    };
    return sequences_fit(launcher, "delta_net", sequences) &&
           require(launcher,
                   fits(operation.qkv, operation.shape.qkv_columns()) &&
                       fits(operation.output, operation.shape.output_columns()),
                   "delta_net", "qkv or output does not match the heads or the batch") &&
           require(launcher, gate_fits(operation, operation.a) && gate_fits(operation, operation.b),
                   "delta_net", "a or b does not match the heads or the batch") &&
           require(launcher, operation.decay.bytes >= head_bytes && operation.dt_bias.bytes >= head_bytes,
                   "delta_net", "decay or dt_bias is short");
}

shaders::DeltaNetArguments arguments_of(const DeltaNet& operation) {
    return {
        .sequences = operation.sequences.infos.address,
        .qkv = operation.qkv.range.address,
        .a = operation.a.rows.range.address,
        .b = operation.b.rows.range.address,
        .decay = operation.decay.address,
        .dt_bias = operation.dt_bias.address,
        .state = operation.states.states.address,
        .pending = operation.states.pending.address,
        .o = operation.output.range.address,
        .qkv_stride = operation.qkv.stride,
        .a_stride = operation.a.rows.stride,
        .b_stride = operation.b.rows.stride,
        .o_stride = operation.output.stride,
        .a_first = operation.a.first,
        .b_first = operation.b.first,
        .gate_run = gate_run(operation),
        .value_heads = operation.shape.value_heads,
        .key_heads = operation.shape.key_heads,
        .slots = operation.states.slots,
        .rows = operation.sequences.rows,
        .length_epsilon = operation.length_epsilon,
    };
}

} // namespace

uint64_t delta_state_bytes(const DeltaShape& shape) {
    return uint64_t{shape.output_columns()} * shape.key_dim * 4;
}

uint64_t delta_pending_bytes(const DeltaShape& shape) {
    return uint64_t{2} * pending_rows_max * pending_row_floats(shape) * 4;
}

void delta_net(const Launcher& launcher, const DeltaNet& operation) {
    const DeltaShape& shape = operation.shape;
    const Sequences& sequences = operation.sequences;
    if (sequences.count == 0 || !shape_fits(launcher, shape) ||
        !states_fit(launcher, "delta_net", operation.states, delta_state_bytes(shape),
                    delta_pending_bytes(shape)) ||
        !rows_fit(launcher, operation))
        return;
    const auto rows = [&](const Activations& all) { return all.rows(0, sequences.rows); };
    launch(launcher,
           {.variant = shaders::delta_net(),
            .specialization = {shape.key_dim, shape.value_dim, shape.order == KeyHeadOrder::tiled ? 1U : 0U},
            .groups = {shape.value_heads * divide_up(shape.value_dim, shaders::delta_values), sequences.count,
                       1},
            .reads = {sequences.infos, rows(operation.qkv), rows(operation.a.rows), rows(operation.b.rows),
                      operation.decay, operation.dt_bias},
            .writes = {operation.states.states, operation.states.pending, rows(operation.output)}},
           arguments_of(operation));
}

} // namespace etna::kernels
