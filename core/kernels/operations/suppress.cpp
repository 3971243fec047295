#include "core/kernels/operations/suppress.hpp"

#include "core/kernels/record.hpp"
#include "shaders/sample/arguments.h"

#include <algorithm>

namespace etna::kernels {

static_assert(sizeof(shaders::SuppressArguments) == 120);
static_assert(suppressed_max == suppress_ids_max);

void suppress(const Launcher& launcher, const Suppress& operation) {
    const bool is_valid =
        operation.ids.size() <= suppress_ids_max &&
        std::ranges::all_of(operation.ids, [&](uint32_t id) { return id < operation.logits.columns; });
    if (operation.count == 0 || operation.ids.empty() ||
        !require(launcher, is_valid, "suppress", "too many ids, or one exceeds the vocabulary"))
        return;
    const vk::Range rows = operation.logits.rows(0, operation.count);
    shaders::SuppressArguments arguments{.logits = rows.address,
                                         .stride = operation.logits.stride,
                                         .rows = operation.count,
                                         .count = static_cast<uint32_t>(operation.ids.size()),
                                         .ids = {}};
    std::ranges::copy(operation.ids, arguments.ids);
    launch(launcher,
           {.variant = shaders::suppress(),
            .specialization = {},
            .groups = {divide_up(operation.count, 64), 1, 1},
            .reads = {},
            .writes = {rows}},
           arguments);
}

} // namespace etna::kernels
