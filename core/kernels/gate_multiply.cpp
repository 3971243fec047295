#include "core/kernels/gate_multiply.hpp"

#include "core/kernels/record.hpp"
#include "shaders/activation/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::GateMultiplyArguments) == 32);

void gate_multiply(Library& library, vk::Recorder& recorder, const GateMultiply& operation) {
    if (operation.count == 0 || !require(recorder, operation.gate.columns == operation.up.columns,
                                         "gate_multiply", "gate and up differ in width"))
        return;
    const vk::Range gate = operation.gate.rows(operation.first, operation.count);
    const vk::Range up = operation.up.rows(operation.first, operation.count);
    const shaders::GateMultiplyArguments arguments{
        .gate = gate.address,
        .up = up.address,
        .columns = operation.gate.columns,
        .gate_stride = operation.gate.stride,
        .up_stride = operation.up.stride,
        .unused = 0,
    };
    launch(library, recorder,
           {.variant = shaders::gate_multiply(),
            .specialization = {operation.kind == Gate::gelu ? 1U : 0U},
            .groups = {divide_up(operation.gate.columns, 64), operation.count, 1},
            .reads = {up},
            .writes = {gate}},
           arguments);
}

} // namespace etna::kernels
