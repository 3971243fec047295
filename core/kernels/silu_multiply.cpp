#include "core/kernels/operations.hpp"
#include "core/kernels/record.hpp"
#include "shaders/activation/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::SiluMultiplyArguments) == 32);

void silu_multiply(Library& library, vk::Recorder& recorder, const SiluMultiply& operation) {
    if (operation.count == 0 || !require(recorder, operation.gate.columns == operation.up.columns,
                                         "silu_multiply", "gate and up differ in width"))
        return;
    const vk::Range gate = operation.gate.rows(operation.first, operation.count);
    const vk::Range up = operation.up.rows(operation.first, operation.count);
    const shaders::SiluMultiplyArguments arguments{
        .gate = gate.address,
        .up = up.address,
        .columns = operation.gate.columns,
        .gate_stride = operation.gate.stride,
        .up_stride = operation.up.stride,
        .unused = 0,
    };
    launch(library, recorder,
           {.variant = shaders::silu_multiply(),
            .specialization = {},
            .groups = {divide_up(operation.gate.columns, 64), operation.count, 1},
            .reads = {up},
            .writes = {gate}},
           arguments);
}

} // namespace etna::kernels
