#include "core/kernels/operations/pack.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::PackArguments) == 32);

void pack(const Launcher& launcher, const Pack& operation) {
    const Activations& rows = operation.rows;
    if (operation.count == 0 ||
        !require(launcher, rows.columns % tile_columns == 0, "pack", "columns are no multiple of 256") ||
        !require(launcher,
                 rows.packed.bytes >=
                     (uint64_t{operation.first} + operation.count) * packed_row_bytes(rows.columns),
                 "pack", "the packed form is shorter than the rows"))
        return;
    const vk::Range input = rows.rows(operation.first, operation.count);
    const vk::Range output = rows.packed_rows(operation.first, operation.count);
    launch(launcher,
           {.variant = shaders::pack(),
            .specialization = {written_blocks(launcher.target())},
            .groups = {rows.columns / tile_columns, operation.count, 1},
            .reads = {input},
            .writes = {output}},
           shaders::PackArguments{.x = input.address,
                                  .y = output.address,
                                  .words = output.address,
                                  .blocks = rows.columns / tile_columns,
                                  .x_stride = rows.stride / 4});
    launcher.note_packed(rows, operation.first, operation.count);
}

bool make_packed(const Launcher& launcher, std::string_view kernel, const Pack& input, bool is_pending) {
    const Activations& rows = input.rows;
    const uint64_t end = uint64_t{input.first} + input.count;
    if (!require(launcher,
                 rows.columns >= tile_columns && rows.columns % tile_columns == 0 &&
                     rows.packed.bytes >= end * packed_row_bytes(rows.columns),
                 kernel, "the input's packed form is missing or shorter than its rows"))
        return false;
    for (;;) {
        const PackedForms::RowSpan missing = launcher.missing_packed(rows, input.first, input.count);
        if (missing.count == 0)
            return true;
        if (!require(launcher, !is_pending, kernel, "the input's norm is pending, but it is not packed"))
            return false;
        pack(launcher, {.rows = rows, .first = missing.first, .count = missing.count});
    }
}

} // namespace etna::kernels
