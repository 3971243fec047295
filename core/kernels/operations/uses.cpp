#include "core/kernels/operations/uses.hpp"

namespace etna::kernels {

std::vector<KernelUse> one_use(const Operation& operation, shaders::Variant variant) {
    return {{.operation = &operation, .variant = variant}};
}

std::vector<Format> all_formats() {
    std::vector<Format> all;
    for (uint32_t index = 0; index < format_count; ++index)
        all.push_back(static_cast<Format>(index));
    return all;
}

Layout exact_layout(const PlanTarget& target, Format format) {
    return {.format = format, .arrangement = exact_arrangement(target, format)};
}

std::vector<Layout> matrix_layouts(const PlanTarget& target) {
    std::vector<Layout> layouts;
    for (const Format format : all_formats()) {
        const Layout usual{.format = format, .arrangement = matrix_arrangement(target, format, tile_columns)};
        const Layout exact = exact_layout(target, format);
        layouts.push_back(usual);
        if (usual != exact)
            layouts.push_back(exact);
    }
    return layouts;
}

std::vector<Layout> tiled_matrices(const PlanTarget& target) {
    std::vector<Layout> layouts = matrix_layouts(target);
    std::erase_if(layouts, [](Layout one) { return one.arrangement != Arrangement::tiles; });
    return layouts;
}

std::vector<Layout> tiled_stacks(const PlanTarget& target) {
    std::vector<Layout> layouts;
    for (const Format format : all_formats()) {
        if (stack_arrangement(target, format, tile_columns) == Arrangement::tiles)
            layouts.push_back({.format = format, .arrangement = Arrangement::tiles});
    }
    return layouts;
}

shaders::Variant exact_stack_variant(const PlanTarget& target, Layout layout) {
    const auto axis = static_cast<shaders::Format>(layout.format);
    if (layout.arrangement == Arrangement::lanes)
        return shaders::expert_lanes(axis);
    return reduced(target, [axis](shaders::Reduce reduce) { return shaders::expert_rows(axis, reduce); });
}

} // namespace etna::kernels
