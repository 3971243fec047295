#include "core/kernels/chosen.hpp"

#include "core/kernels/policy.hpp"

#include <fmt/format.h>

namespace etna::kernels {
namespace {

void add_linear(const PlanTarget& target, Format format, RowPath path, std::vector<ChosenKernel>& chosen) {
    constexpr uint32_t usual_rows = 4096;
    const Layout layout{.format = format, .arrangement = preferred_arrangement(target)};
    const auto plan = linear_plan(target, layout, usual_rows, path, 1);
    if (!plan)
        return;
    chosen.push_back(
        {fmt::format("linear {}, {}", to_string(format), path == RowPath::prompt ? "prompt" : "generation"),
         shaders::code(linear_variant(*plan, format)).name});
}

} // namespace

std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target) {
    std::vector<ChosenKernel> chosen;
    const auto add = [&](std::string_view operation, shaders::Variant variant) {
        chosen.push_back({std::string(operation), shaders::code(variant).name});
    };
    const auto arrangement = static_cast<shaders::Arrangement>(preferred_arrangement(target));
    const shaders::Reduce reduce = reduce_plan(target).reduce;
    for (uint32_t index = 0; index < format_count; ++index) {
        const auto format = static_cast<Format>(index);
        add(fmt::format("embed {}", to_string(format)),
            shaders::embed(static_cast<shaders::Format>(format), arrangement));
        add_linear(target, format, RowPath::prompt, chosen);
        add_linear(target, format, RowPath::generation, chosen);
    }
    add("rms_norm", shaders::rms_norm(reduce));
    add("rotary_store", shaders::rotary_store(reduce));
    add("attention", shaders::attention());
    add("sample", shaders::sample_partial(reduce));
    return chosen;
}

} // namespace etna::kernels
