#include "core/kernels/operations/halve.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::HalveArguments) == 32);

void halve(const Launcher& launcher, const Halve& operation) {
    const Activations& rows = operation.rows;
    if (operation.count == 0 ||
        !require(launcher, rows.columns % tile_columns == 0, "halve", "columns are no multiple of 256") ||
        !require(launcher,
                 rows.halves.bytes >=
                     (uint64_t{operation.first} + operation.count) * halves_bytes(rows.columns),
                 "halve", "the halves are shorter than the rows"))
        return;
    const vk::Range input = rows.rows(operation.first, operation.count);
    const vk::Range output = rows.halves_rows(operation.first, operation.count);
    launch(launcher,
           {.variant = shaders::halve(),
            .specialization = {written_blocks(launcher.target())},
            .groups = {rows.columns / tile_columns, operation.count, 1},
            .reads = {input},
            .writes = {output}},
           shaders::HalveArguments{.x = input.address,
                                   .y = output.address,
                                   .words = output.address,
                                   .blocks = rows.columns / tile_columns,
                                   .x_stride = rows.stride / 4});
}

} // namespace etna::kernels
