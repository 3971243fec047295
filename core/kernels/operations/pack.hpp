#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <string_view>

namespace etna::kernels {

/// Writes rows [first, first + count) in a form that matrices in tiles read (Linear).
struct Pack {
    Activations rows;
    PackedForm form = PackedForm::blocks;
    uint32_t first = 0;
    uint32_t count = 0;
};
void pack(const Launcher& launcher, const Pack& operation);

/// Packs what is not packed of the rows of a kernel's input, and returns true; false if the input has no room
/// for it, or its norm is pending, so that only its producer can pack it: then the launcher has failed, with
/// the kernel's name.
bool make_packed(const Launcher& launcher, std::string_view kernel, const Pack& input,
                 bool is_pending = false);

extern const Operation pack_operation;
extern const Operation pack_f16_operation;

} // namespace etna::kernels
