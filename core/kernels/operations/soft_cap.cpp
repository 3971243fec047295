#include "core/kernels/operations/soft_cap.hpp"

#include "core/kernels/record.hpp"
#include "shaders/activation/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::SoftCapArguments) == 24);

void soft_cap(const Launcher& launcher, const SoftCap& operation) {
    if (operation.count == 0 || !require(launcher, operation.cap >= 0, "soft_cap", "cap is negative"))
        return;
    const vk::Range rows = operation.values.rows(0, operation.count);
    const shaders::SoftCapArguments arguments{
        .x = rows.address,
        .columns = operation.values.columns,
        .stride = operation.values.stride,
        .cap = operation.cap,
        .scale = operation.scale,
    };
    launch(launcher,
           {.variant = shaders::soft_cap(),
            .specialization = {},
            .groups = {divide_up(operation.values.columns, 64), operation.count, 1},
            .reads = {},
            .writes = {rows}},
           arguments);
}

} // namespace etna::kernels
