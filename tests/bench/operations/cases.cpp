#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {

Activations activations(Space& space, uint32_t columns) {
    return {.range = space.take(),
            .columns = columns,
            .stride = padded_columns(columns),
            .packed = space.take(),
            .f16 = space.take()};
}

Matrix matrix(Space& space, Layout layout, uint32_t rows) {
    return {
        .layout = layout, .rows = rows, .columns = width, .weights = space.take(), .scales = space.take()};
}

Rows rows_of(Space& space) {
    return {.infos = space.take(), .first = 0, .count = 1};
}

Sequences one_sequence(Space& space) {
    return {.infos = space.take(), .count = 1, .rows = 1};
}

namespace {

bool is_possible(const PlanTarget& target, Layout layout) {
    switch (layout.arrangement) {
    case Arrangement::rows:
        return true;
    case Arrangement::lanes:
        return lanes_usable(target.profile);
    case Arrangement::tiles:
        return layout.format != Format::f32 &&
               usable(shaders::linear_tiles(static_cast<shaders::Format>(layout.format)), target.profile);
    }
    return false;
}

} // namespace

std::vector<Layout> every_layout() {
    std::vector<Layout> layouts;
    for (uint32_t index = 0; index < format_count; ++index) {
        for (const Arrangement arrangement : {Arrangement::rows, Arrangement::lanes, Arrangement::tiles})
            layouts.push_back({.format = static_cast<Format>(index), .arrangement = arrangement});
    }
    return layouts;
}

std::vector<Layout> possible_layouts(const PlanTarget& target) {
    std::vector<Layout> layouts = every_layout();
    std::erase_if(layouts, [&](Layout one) { return !is_possible(target, one); });
    return layouts;
}

std::vector<Layout> possible_tiles(const PlanTarget& target) {
    std::vector<Layout> layouts = possible_layouts(target);
    std::erase_if(layouts, [](Layout one) { return one.arrangement != Arrangement::tiles; });
    return layouts;
}

std::string_view name_of(CacheFormat format) {
    constexpr std::string_view names[] = {"f32", "f16", "q8_0"};
    return names[static_cast<size_t>(format)];
}

std::string name_of(CacheFormats formats) {
    return fmt::format("{} {}", name_of(formats.keys), name_of(formats.values));
}

LayerCache layer_cache(Space& space, CacheFormats formats, uint32_t head_dim) {
    return {.formats = formats,
            .kv_heads = usual_kv_heads,
            .head_dim = head_dim,
            .pages = context_tokens / page_tokens,
            .keys = space.take(),
            .values = space.take()};
}

LayerCache latent_cache(Space& space, CacheFormat format) {
    constexpr uint32_t latent_dim = 512;
    constexpr uint32_t rotated = 64;
    return {.formats = {format, format},
            .kv_heads = 1,
            .head_dim = latent_dim + rotated,
            .pages = context_tokens / page_tokens,
            .keys = space.take(),
            .latent_dim = latent_dim};
}

} // namespace etna::bench
