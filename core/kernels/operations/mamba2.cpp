#include "core/kernels/operations/mamba2.hpp"

#include "core/kernels/record.hpp"
#include "shaders/delta/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::Mamba2Arguments) == 104);

bool fits(const Launcher& launcher, const Mamba2& operation) {
    const Mamba2Shape& shape = operation.shape;
    const Sequences& sequences = operation.sequences;
    const uint64_t head_bytes = uint64_t{shape.heads} * 4;
    const auto check = [&](bool holds, std::string_view problem) {
        return require(launcher, holds, "mamba2", problem);
    };
    const auto has_rows = [&](const Activations& rows, uint32_t columns) {
        return rows.columns == columns && rows.range.bytes >= uint64_t{sequences.rows} * rows.stride * 4;
    };
    return check(shape.groups > 0 && shape.heads > 0 && shape.heads % shape.groups == 0,
                 "the number of heads is not a multiple of that of groups") &&
           check(shape.state_dim > 0 && shape.state_dim <= mamba2_state_dim_max && shape.head_dim > 0,
                 "head or state size is 0 or too large") &&
           states_fit(launcher, "mamba2", operation.states, mamba2_state_bytes(shape),
                      mamba2_pending_bytes(shape)) &&
           sequences_fit(launcher, "mamba2", sequences) &&
           check(has_rows(operation.xbc, shape.xbc_columns()) && has_rows(operation.dt, shape.heads) &&
                     has_rows(operation.output, shape.output_columns()),
                 "xbc, dt or output does not match the heads or the batch") &&
           check(operation.decay.bytes >= head_bytes && operation.dt_bias.bytes >= head_bytes &&
                     operation.skip.bytes >= head_bytes,
                 "decay, dt_bias or skip is short");
}

} // namespace

uint64_t mamba2_state_bytes(const Mamba2Shape& shape) {
    return uint64_t{shape.output_columns()} * shape.state_dim * 4;
}

uint64_t mamba2_pending_bytes(const Mamba2Shape& shape) {
    const uint64_t row_floats =
        uint64_t{shape.groups} * shape.state_dim + shape.output_columns() + shape.heads;
    return uint64_t{2} * pending_rows_max * row_floats * 4;
}

void mamba2(const Launcher& launcher, const Mamba2& operation) {
    const Mamba2Shape& shape = operation.shape;
    const Sequences& sequences = operation.sequences;
    if (sequences.count == 0 || !fits(launcher, operation))
        return;
    const auto rows = [&](const Activations& all) { return all.rows(0, sequences.rows); };
    const shaders::Mamba2Arguments arguments{
        .sequences = sequences.infos.address,
        .xbc = operation.xbc.range.address,
        .dt = operation.dt.range.address,
        .decay = operation.decay.address,
        .dt_bias = operation.dt_bias.address,
        .skip = operation.skip.address,
        .state = operation.states.states.address,
        .pending = operation.states.pending.address,
        .y = operation.output.range.address,
        .xbc_stride = operation.xbc.stride,
        .dt_stride = operation.dt.stride,
        .y_stride = operation.output.stride,
        .value_heads = shape.heads,
        .key_heads = shape.groups,
        .slots = operation.states.slots,
        .rows = sequences.rows,
        .unused = 0,
    };
    launch(launcher,
           {.variant = shaders::mamba2(),
            .specialization = {shape.state_dim, shape.head_dim},
            .groups = {shape.heads * divide_up(shape.head_dim, shaders::delta_values), sequences.count, 1},
            .reads = {sequences.infos, rows(operation.xbc), rows(operation.dt), operation.decay,
                      operation.dt_bias, operation.skip},
            .writes = {operation.states.states, operation.states.pending, rows(operation.output)}},
           arguments);
}

} // namespace etna::kernels
