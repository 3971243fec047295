#include "core/kernels/kernel_choices.hpp"

#include "core/kernels/operations.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

std::string layout_text(Layout layout) {
    return layout.arrangement == Arrangement::tiles ? fmt::format("{} in tiles", to_string(layout.format))
                                                    : std::string(to_string(layout.format));
}

/// Where a use is listed: format by format, matrices before stacks, tiles before the layouts that replace
/// them.
auto list_place(const KernelUse& use) {
    const Layout layout = use.layout.value_or(Layout{});
    return std::tuple(!use.layout.has_value(), layout.format, use.operation->weights,
                      layout.arrangement != Arrangement::tiles);
}

} // namespace

std::string describe(const KernelUse& use) {
    std::string text(use.operation->name);
    if (use.layout)
        text += " " + layout_text(*use.layout);
    if (use.path)
        text += fmt::format(", {}", to_string(*use.path));
    return use.factors == OperandPrecision::f32 ? text + ", exact" : text;
}

std::vector<KernelUse> kernel_uses(const PlanTarget& target) {
    std::vector<KernelUse> all;
    for (const Operation* operation : operations()) {
        const std::vector<KernelUse> uses = operation->uses(target);
        all.insert(all.end(), uses.begin(), uses.end());
    }
    std::ranges::stable_sort(all, {}, list_place);
    return all;
}

Result<std::vector<KernelUse>> needed_uses(const PlanTarget& target, const NeededKernels& needed) {
    std::vector<KernelUse> uses = kernel_uses(target);
    if (!needed)
        return uses;
    ETNA_TRY(const VariantSet variants, needed(target));
    std::erase_if(uses, [&](const KernelUse& use) { return !variants.contains(use.variant); });
    return uses;
}

Status require_trusted(const PlanTarget& target, const NeededKernels& needed) {
    ETNA_TRY(const std::vector<KernelUse> uses, needed_uses(target, needed));
    for (const KernelUse& use : uses) {
        if (!target.untrusted.contains(use.variant))
            continue;
        return Error{ErrorKind::unsupported,
                     fmt::format("kernel {} computes wrongly on {} ({}), and no other kernel can replace it",
                                 shaders::code(use.variant).name, target.profile.name, target.profile.driver),
                     "update the device's driver, or choose another device (--device; `etna devices` lists "
                     "them)"};
    }
    return {};
}

std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target) {
    std::vector<ChosenKernel> chosen;
    for (const KernelUse& use : kernel_uses(target))
        chosen.push_back({describe(use), shaders::code(use.variant).name});
    return chosen;
}

} // namespace etna::kernels
