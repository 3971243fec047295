#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// Writes the halves of rows [first, first + count), which matrices in tiles read (Linear).
struct Halve {
    Activations rows;
    uint32_t first = 0;
    uint32_t count = 0;
};
void halve(const Launcher& launcher, const Halve& operation);

extern const Operation halve_operation;

} // namespace etna::kernels
