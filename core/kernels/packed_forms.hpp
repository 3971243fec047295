#pragma once

#include "core/kernels/layout.hpp"
#include "core/vk/range.hpp"

#include <cstdint>
#include <vector>

namespace etna::kernels {

/// Which rows of activations have a current packed form, at a point of a recording. Kernels that read it make
/// what is missing (make_packed()), so that neither its writer nor its reader needs to know the other.
/// Not thread-safe.
class PackedForms {
public:
    /// Consecutive rows of an activation.
    struct RowSpan {
        uint32_t first = 0;
        uint32_t count = 0;
    };

    /// A launch wrote `range`: what was packed there, or packed from there, is no longer current.
    void forget(const vk::Range& range);

    /// Rows [first, first + count) were packed. Precondition: the activation has room for this form.
    void note(const Activations& rows, PackedForm form, uint32_t first, uint32_t count);

    /// The first consecutive rows of [first, first + count) that are not packed; count 0: all are.
    [[nodiscard]] RowSpan missing(const Activations& rows, PackedForm form, uint32_t first,
                                  uint32_t count) const;

private:
    /// Consecutive rows as f32, and in a packed form.
    struct Current {
        vk::Range rows;
        vk::Range packed;
        uint64_t row_bytes = 0;
        uint64_t packed_row_bytes = 0;

        /// The rows of an activation that it holds; empty if it holds those of another one. Scratch memory is
        /// used again: another value's packed rows may lie where this value's would.
        [[nodiscard]] RowSpan span_of(const Activations& all, PackedForm form) const;
    };
    std::vector<Current> current_;
};

} // namespace etna::kernels
