#include "core/kernels/packed_forms.hpp"
#include "tests/support/catch.hpp"

namespace etna::kernels {
namespace {

constexpr uint32_t columns = 512;
constexpr uint32_t row_count = 10;

/// Rows at `address`, their packed form behind them.
Activations rows_at(uint64_t address) {
    constexpr uint64_t bytes = uint64_t{row_count} * columns * sizeof(float);
    return {.range = {.address = address, .bytes = bytes},
            .columns = columns,
            .stride = columns,
            .packed = {.address = address + bytes, .bytes = row_count * packed_row_bytes(columns)}};
}

void check_missing(const PackedForms& forms, const Activations& rows, uint32_t first, uint32_t count) {
    const PackedForms::RowSpan missing = forms.missing(rows, PackedForm::blocks, 0, row_count);
    CHECK(missing.count == count);
    if (count > 0)
        CHECK(missing.first == first);
}

} // namespace

TEST_CASE("packed forms are missing until they are noted, in any order of their rows") {
    const Activations rows = rows_at(4096);
    PackedForms forms;
    check_missing(forms, rows, 0, row_count);
    forms.note(rows, PackedForm::blocks, 4, 3);
    check_missing(forms, rows, 0, 4);
    forms.note(rows, PackedForm::blocks, 0, 4);
    check_missing(forms, rows, 7, 3);
    CHECK(forms.missing(rows, PackedForm::blocks, 2, 5).count == 0);
    CHECK(forms.missing(rows, PackedForm::blocks, 6, 2).first == 7);
    forms.note(rows, PackedForm::blocks, 7, 3);
    check_missing(forms, rows, 0, 0);
    check_missing(forms, rows_at(1U << 20U), 0, row_count);
}

TEST_CASE("packed forms of a value do not serve another one whose packed rows would lie there") {
    const Activations rows = rows_at(4096);
    PackedForms forms;
    forms.note(rows, PackedForm::blocks, 0, row_count);
    Activations other = rows;
    other.range.address = 1U << 20U;
    check_missing(forms, other, 0, row_count);
    other.range.address = rows.range.address + uint64_t{columns} * sizeof(float); // the next row of the same
    check_missing(forms, other, 0, row_count);
}

TEST_CASE("packed forms are forgotten when their rows or they themselves are written") {
    const Activations rows = rows_at(4096);
    PackedForms forms;
    forms.note(rows, PackedForm::blocks, 0, 5);
    forms.note(rows, PackedForm::blocks, 5, 5);
    forms.forget({});
    forms.forget({.address = 4000, .bytes = 96});
    check_missing(forms, rows, 0, 0);
    forms.forget(rows.rows(6, 1));
    check_missing(forms, rows, 5, 5);
    forms.note(rows, PackedForm::blocks, 5, 5);
    forms.forget(rows.packed_rows(0, 1));
    check_missing(forms, rows, 0, 5);
}

} // namespace etna::kernels
