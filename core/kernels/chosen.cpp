#include "core/kernels/chosen.hpp"

#include "core/kernels/policy.hpp"

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr uint32_t usual_rows = 4096; ///< of a weight; which kernel it gets does not depend on them

std::string_view name_of(Operation operation) {
    switch (operation) {
    case Operation::embed:
        return "embed";
    case Operation::rms_norm:
        return "rms_norm";
    case Operation::linear:
        return "linear";
    case Operation::rotary_store:
        return "rotary_store";
    case Operation::attention:
        return "attention";
    case Operation::attention_merge:
        return "attention_merge";
    case Operation::gate_multiply:
        return "gate_multiply";
    case Operation::soft_cap:
        return "soft_cap";
    case Operation::expert_route:
        return "expert_route";
    case Operation::expert_group:
        return "expert_group";
    case Operation::expert_linear:
        return "expert_linear";
    case Operation::expert_sum:
        return "expert_sum";
    case Operation::sample_partial:
        return "sample_partial";
    case Operation::sample_finish:
        return "sample_finish";
    }
    return "unknown";
}

/// Kernels that read weights of one format.
void add_format(const PlanTarget& target, const KernelScope& scope, Format format,
                std::vector<KernelUse>& uses) {
    const auto axis = static_cast<shaders::Format>(format);
    const Layout layout{.format = format, .arrangement = preferred_arrangement(target, format)};
    uses.push_back({.operation = Operation::embed,
                    .variant = shaders::embed(axis, static_cast<shaders::Arrangement>(layout.arrangement)),
                    .format = format});
    for (const auto path : {RowPath::prompt, RowPath::generation}) {
        if (const auto plan = linear_plan(target, layout, usual_rows, path, 1)) {
            uses.push_back({.operation = Operation::linear,
                            .variant = linear_variant(*plan, format),
                            .format = format,
                            .path = path});
        }
    }
    if (!scope.has_experts)
        return;
    const ReducePlan reduce = reduce_plan(target, shaders::expert_rows(axis, shaders::Reduce::subgroup));
    uses.push_back({.operation = Operation::expert_linear,
                    .variant = layout.arrangement == Arrangement::lanes
                                   ? shaders::expert_lanes(axis)
                                   : shaders::expert_rows(axis, reduce.reduce),
                    .format = format});
}

} // namespace

std::string describe(const KernelUse& use) {
    switch (use.operation) {
    case Operation::embed:
    case Operation::expert_linear:
        return fmt::format("{} {}", name_of(use.operation), to_string(use.format));
    case Operation::linear:
        return fmt::format("linear {}, {}", to_string(use.format),
                           use.path == RowPath::prompt ? "prompt" : "generation");
    case Operation::rotary_store:
    case Operation::attention:
        return fmt::format("{} {}", name_of(use.operation), use.cache == CacheFormat::f32 ? "f32" : "f16");
    default:
        return std::string(name_of(use.operation));
    }
}

std::vector<KernelUse> kernel_uses(const PlanTarget& target, const KernelScope& scope) {
    std::vector<KernelUse> uses;
    /// The variant that a shader's plan picks of its two ways to reduce.
    const auto reduced = [&](auto shader) {
        return shader(reduce_plan(target, shader(shaders::Reduce::subgroup)).reduce);
    };
    for (uint32_t index = 0; index < format_count; ++index) {
        if (scope.formats.test(index))
            add_format(target, scope, static_cast<Format>(index), uses);
    }
    uses.push_back({.operation = Operation::rms_norm, .variant = reduced(shaders::rms_norm)});
    for (const auto cache : {CacheFormat::f32, CacheFormat::f16}) {
        const auto axis = static_cast<shaders::Cache>(cache);
        uses.push_back(
            {.operation = Operation::rotary_store,
             .variant = reduced([&](shaders::Reduce reduce) { return shaders::rotary_store(axis, reduce); }),
             .cache = cache});
        uses.push_back({.operation = Operation::attention, .variant = shaders::attention(axis), .cache = cache});
    }
    uses.push_back({.operation = Operation::attention_merge, .variant = shaders::attention_merge()});
    uses.push_back({.operation = Operation::gate_multiply, .variant = shaders::gate_multiply()});
    uses.push_back({.operation = Operation::soft_cap, .variant = shaders::soft_cap()});
    if (scope.has_experts) {
        uses.push_back({.operation = Operation::expert_route, .variant = reduced(shaders::expert_route)});
        uses.push_back({.operation = Operation::expert_group, .variant = shaders::expert_group()});
        uses.push_back({.operation = Operation::expert_sum, .variant = shaders::expert_sum()});
    }
    uses.push_back({.operation = Operation::sample_partial, .variant = reduced(shaders::sample_partial)});
    uses.push_back({.operation = Operation::sample_finish, .variant = reduced(shaders::sample_finish)});
    return uses;
}

Status require_trusted(const PlanTarget& target, const KernelScope& scope) {
    for (const KernelUse& use : kernel_uses(target, scope)) {
        if (!target.untrusted.contains(use.variant))
            continue;
        return Error{ErrorKind::unsupported,
                     fmt::format("kernel {} computes wrongly on {} ({}), and no other can take its place",
                                 shaders::code(use.variant).name, target.profile.name, target.profile.driver),
                     "update the device's driver, or choose another device (--device; `etna devices` lists "
                     "them)"};
    }
    return {};
}

std::vector<ChosenKernel> chosen_kernels(const PlanTarget& target) {
    std::vector<ChosenKernel> chosen;
    for (const KernelUse& use : kernel_uses(target, KernelScope::everything()))
        chosen.push_back({describe(use), shaders::code(use.variant).name});
    return chosen;
}

} // namespace etna::kernels
