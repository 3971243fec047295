#include "core/kernels/operations/pack.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/linear/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::PackArguments) == 32);
static_assert(sizeof(shaders::PackF16Arguments) == 24);

void pack_blocks(const Launcher& launcher, const Activations& rows, const vk::Range& input,
                 const vk::Range& output, uint32_t count) {
    launch(launcher,
           {.variant = shaders::pack(),
            .specialization = {written_blocks(launcher.target())},
            .groups = {rows.columns / tile_columns, count, 1},
            .reads = {input},
            .writes = {output}},
           shaders::PackArguments{.x = input.address,
                                  .y = output.address,
                                  .words = output.address,
                                  .blocks = rows.columns / tile_columns,
                                  .x_stride = rows.stride / 4});
}

void pack_f16(const Launcher& launcher, const Activations& rows, const vk::Range& input,
              const vk::Range& output, uint32_t count) {
    const ReducePlan plan = norm_plan(launcher.target(), rows.columns);
    launch(launcher,
           {.variant = shaders::pack_f16(),
            .specialization = {plan.workgroup, plan.one_subgroup},
            .groups = {count, 1, 1},
            .reads = {input},
            .writes = {output}},
           shaders::PackF16Arguments{.x = input.address,
                                     .words = output.address,
                                     .columns = rows.columns,
                                     .x_stride = rows.stride / 4});
}

} // namespace

void pack(const Launcher& launcher, const Pack& operation) {
    const auto& [rows, form, first, count] = operation;
    if (count == 0 || !require(launcher, rows.has_form(form, uint64_t{first} + count), "pack",
                               "columns are no multiple of 256, or the packed form is shorter than the rows"))
        return;
    const vk::Range input = rows.rows(first, count);
    const vk::Range output = rows.form_rows(form, first, count);
    if (form == PackedForm::blocks)
        pack_blocks(launcher, rows, input, output, count);
    else
        pack_f16(launcher, rows, input, output, count);
    launcher.note_packed(rows, form, first, count);
}

bool make_packed(const Launcher& launcher, std::string_view kernel, const Pack& input, bool is_pending) {
    const auto& [rows, form, first, count] = input;
    if (!require(launcher, rows.has_form(form, uint64_t{first} + count), kernel,
                 "the input's packed form is missing or shorter than its rows"))
        return false;
    for (;;) {
        const PackedForms::RowSpan missing = launcher.missing_packed(rows, form, first, count);
        if (missing.count == 0)
            return true;
        if (!require(launcher, !is_pending, kernel, "the input's norm is pending, but it is not packed"))
            return false;
        pack(launcher, {.rows = rows, .form = form, .first = missing.first, .count = missing.count});
    }
}

} // namespace etna::kernels
