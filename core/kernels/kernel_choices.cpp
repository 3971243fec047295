#include "core/kernels/kernel_choices.hpp"

#include "core/kernels/operations/experts.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr uint32_t usual_width = 4096; ///< of a weight; kernel selection does not depend on it
/// Of attention, with a cache in f16.
constexpr AttentionShape usual_heads{.q_heads = 32, .kv_heads = 8, .head_dim = 128};
constexpr AttentionShape odd_heads{.q_heads = 32, .kv_heads = 8, .head_dim = 18}; ///< of the general kernel

std::string_view name_of(Operation operation) {
    switch (operation) {
    case Operation::embed:
        return "embed";
    case Operation::rms_norm:
        return "rms_norm";
    case Operation::linear:
        return "linear";
    case Operation::fused_linear:
        return "fused_linear";
    case Operation::heads_linear:
        return "heads_linear";
    case Operation::halve:
        return "halve";
    case Operation::rotary_store:
        return "rotary_store";
    case Operation::latent_store:
        return "latent_store";
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
    case Operation::expert_router:
        return "expert_router";
    case Operation::expert_group:
        return "expert_group";
    case Operation::expert_linear:
        return "expert_linear";
    case Operation::expert_gate_up:
        return "expert_gate_up";
    case Operation::expert_down:
        return "expert_down";
    case Operation::expert_sum:
        return "expert_sum";
    case Operation::heads_product:
        return "heads_product";
    case Operation::short_convolution:
        return "short_convolution";
    case Operation::delta_net:
        return "delta_net";
    case Operation::mamba2:
        return "mamba2";
    case Operation::gated_rms_norm:
        return "gated_rms_norm";
    case Operation::altup:
        return "altup";
    case Operation::match_rms:
        return "match_rms";
    case Operation::statistical_top_k:
        return "statistical_top_k";
    case Operation::suppress:
        return "suppress";
    case Operation::sample_partial:
        return "sample_partial";
    case Operation::sample_finish:
        return "sample_finish";
    }
    return "unknown";
}

std::string_view name_of(RowPath path) {
    return path == RowPath::prefill ? "prompt" : "generation";
}

/// The variant that a shader's plan selects of its two reductions.
template <class Shader>
shaders::Variant reduced(const PlanTarget& target, Shader shader) {
    return shader(reduce_plan(target, shader(shaders::Reduce::subgroup)).reduce);
}

/// Kernels that read matrices or tables of one layout.
void add_layout(const PlanTarget& target, const KernelScope& scope, Layout layout,
                std::vector<KernelUse>& uses) {
    const auto axis = static_cast<shaders::Format>(layout.format);
    const auto index = static_cast<std::size_t>(layout.format);
    if (scope.tables.test(index)) {
        uses.push_back(
            {.operation = Operation::embed,
             .variant = shaders::embed(axis, static_cast<shaders::Arrangement>(layout.arrangement)),
             .layout = layout});
    }
    if (!scope.matrices.test(index))
        return;
    const auto add_linear = [&](RowPath path, OperandPrecision factors) {
        const auto plan = linear_plan(target, layout, usual_width, usual_width, path, 1, factors);
        if (!plan)
            return;
        const KernelUse use{.operation = Operation::linear,
                            .variant = linear_variant(*plan, layout),
                            .layout = layout,
                            .path = path,
                            .factors = factors};
        if (factors == OperandPrecision::f16_allowed || use.variant != uses.back().variant)
            uses.push_back(use);
    };
    add_linear(RowPath::decode, OperandPrecision::f16_allowed);
    add_linear(RowPath::prefill, OperandPrecision::f16_allowed);
    const shaders::Variant fused = fused_linear_variant(
        fused_linear_plan(target, layout.format, usual_width, usual_width, 1, false), layout.format);
    if (layout.arrangement == Arrangement::tiles && !target.untrusted.contains(fused))
        uses.push_back({.operation = Operation::fused_linear, .variant = fused, .layout = layout});
    const shaders::Variant heads = heads_linear_variant(
        heads_linear_plan(target, layout.format, usual_width, usual_width, 1, usual_heads.head_dim),
        layout.format);
    if (layout.arrangement == Arrangement::tiles && usable(heads, target.profile).has_value() &&
        !target.untrusted.contains(heads))
        uses.push_back({.operation = Operation::heads_linear, .variant = heads, .layout = layout});
    if (scope.stacks.any() && layout.arrangement != Arrangement::tiles) // a router
        add_linear(RowPath::prefill, OperandPrecision::f32);
}

/// Kernels that read experts' matrices of one format: those in tiles and, if some widths are odd, the others.
void add_stacks(const PlanTarget& target, const KernelScope& scope, Format format,
                std::vector<KernelUse>& uses) {
    const auto axis = static_cast<shaders::Format>(format);
    const Layout usual{.format = format, .arrangement = stack_arrangement(target, format, tile_columns)};
    const Layout exact{.format = format, .arrangement = exact_arrangement(target, format)};
    const auto add = [&](Operation operation, shaders::Variant variant, Layout layout) {
        uses.push_back({.operation = operation, .variant = variant, .layout = layout});
    };
    if (usual.arrangement == Arrangement::tiles) {
        add(Operation::expert_gate_up, expert_tiles_plan(target, format).variant, usual);
        add(Operation::expert_linear, expert_tiles_plan(target, format).variant, usual);
        add(Operation::expert_down, expert_down_plan(target, format).variant, usual);
    }
    const auto rows = [axis](shaders::Reduce reduce) { return shaders::expert_rows(axis, reduce); };
    const shaders::Variant variant =
        exact.arrangement == Arrangement::lanes ? shaders::expert_lanes(axis) : reduced(target, rows);
    if (usual.arrangement != Arrangement::tiles || scope.odd_columns)
        add(Operation::expert_linear, variant, exact);
    if (scope.latents)
        add(Operation::heads_product, variant, exact);
}

/// Adds the kernels that read weights of one format. Tiled matrices also have row kernels if some widths are
/// odd or some products exact.
void add_format(const PlanTarget& target, const KernelScope& scope, Format format,
                std::vector<KernelUse>& uses) {
    const Layout usual{.format = format, .arrangement = matrix_arrangement(target, format, tile_columns)};
    const Layout exact{.format = format, .arrangement = exact_arrangement(target, format)};
    add_layout(target, scope, usual, uses);
    if (usual != exact && (scope.odd_columns || scope.stacks.any()))
        add_layout(target, scope, exact, uses);
    if (scope.stacks.test(static_cast<std::size_t>(format)))
        add_stacks(target, scope, format, uses);
}

/// Kernels without weights.
void add_others(const PlanTarget& target, const KernelScope& scope, std::vector<KernelUse>& uses) {
    const auto add = [&](Operation operation, shaders::Variant variant) {
        uses.push_back({.operation = operation, .variant = variant});
    };
    add(Operation::rms_norm, reduced(target, shaders::rms_norm));
    if (reads_halves(target, tile_columns))
        add(Operation::halve, shaders::halve());
    add(Operation::rotary_store, reduced(target, shaders::rotary_store));
    if (scope.latents)
        add(Operation::latent_store, reduced(target, shaders::latent_store));
    for (const RowPath path : {RowPath::prefill, RowPath::decode}) {
        uses.push_back({.operation = Operation::attention,
                        .variant = attention_variant(attention_plan(target, usual_heads, path)),
                        .path = path});
    }
    const shaders::Variant general = attention_variant(attention_plan(target, odd_heads, RowPath::prefill));
    if (std::ranges::none_of(uses, [&](const KernelUse& use) { return use.variant == general; }))
        uses.push_back({.operation = Operation::attention, .variant = general, .path = RowPath::prefill});
    add(Operation::attention_merge, shaders::attention_merge());
    add(Operation::gate_multiply, shaders::gate_multiply());
    add(Operation::soft_cap, shaders::soft_cap());
    if (scope.stacks.any()) {
        add(Operation::expert_route, reduced(target, shaders::expert_route));
        const Layout router{.format = Format::f32, .arrangement = exact_arrangement(target, Format::f32)};
        if (scope.matrices.test(static_cast<std::size_t>(Format::f32)) &&
            expert_router_usable(target, {.layout = router}))
            add(Operation::expert_router, reduced(target, shaders::expert_router));
        add(Operation::expert_group, shaders::expert_group());
        add(Operation::expert_sum, shaders::expert_sum());
    }
    if (scope.delta_nets || scope.short_convolutions || scope.mamba2)
        add(Operation::short_convolution, shaders::short_convolution());
    if (scope.delta_nets)
        add(Operation::delta_net, shaders::delta_net());
    if (scope.mamba2)
        add(Operation::mamba2, shaders::mamba2());
    if (scope.delta_nets || scope.mamba2)
        add(Operation::gated_rms_norm, reduced(target, shaders::gated_rms_norm));
    if (scope.altup) {
        add(Operation::altup, reduced(target, shaders::altup));
        add(Operation::match_rms, reduced(target, shaders::match_rms));
        add(Operation::statistical_top_k, reduced(target, shaders::statistical_top_k));
    }
    if (scope.suppressed)
        add(Operation::suppress, shaders::suppress());
    add(Operation::sample_partial, reduced(target, shaders::sample_partial));
    add(Operation::sample_finish, reduced(target, shaders::sample_finish));
}

std::string layout_text(Layout layout) {
    return layout.arrangement == Arrangement::tiles ? fmt::format("{} in tiles", to_string(layout.format))
                                                    : std::string(to_string(layout.format));
}

} // namespace

std::string describe(const KernelUse& use) {
    switch (use.operation) {
    case Operation::embed:
    case Operation::expert_linear:
    case Operation::expert_gate_up:
    case Operation::expert_down:
    case Operation::heads_product:
    case Operation::fused_linear:
    case Operation::heads_linear:
        return fmt::format("{} {}", name_of(use.operation), layout_text(use.layout));
    case Operation::linear:
        return fmt::format("linear {}, {}{}", layout_text(use.layout), name_of(use.path),
                           use.factors == OperandPrecision::f32 ? ", exact" : "");
    case Operation::attention:
        return fmt::format("attention, {}", name_of(use.path));
    default:
        return std::string(name_of(use.operation));
    }
}

KernelScope KernelScope::everything() {
    KernelScope scope;
    for (auto* formats : {&scope.tables, &scope.matrices, &scope.stacks})
        formats->set();
    scope.delta_nets = true;
    scope.short_convolutions = true;
    scope.mamba2 = true;
    scope.altup = true;
    scope.latents = true;
    scope.suppressed = true;
    scope.odd_columns = true;
    return scope;
}

std::vector<KernelUse> kernel_uses(const PlanTarget& target, const KernelScope& scope) {
    std::vector<KernelUse> uses;
    for (uint32_t index = 0; index < format_count; ++index)
        add_format(target, scope, static_cast<Format>(index), uses);
    add_others(target, scope, uses);
    return uses;
}

Status require_trusted(const PlanTarget& target, const KernelScope& scope) {
    for (const KernelUse& use : kernel_uses(target, scope)) {
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
    for (const KernelUse& use : kernel_uses(target, KernelScope::everything()))
        chosen.push_back({describe(use), shaders::code(use.variant).name});
    return chosen;
}

} // namespace etna::kernels
