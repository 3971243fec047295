#include "core/kernels/tuning.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

constexpr std::array tuned_kernels{TunedKernel::linear, TunedKernel::fused_linear, TunedKernel::gated_linear,
                                   TunedKernel::attention, TunedKernel::attention_decode};

/// The order of entries: each dispatch of a step looks its shape up.
auto rank(const TunedShape& shape) {
    return std::tuple(shape.rows, shape.columns, shape.kernel, shape.layout.format, shape.layout.arrangement,
                      shape.kv_heads);
}
auto rank_of_entry(const Tuning::Entry& entry) {
    return rank(entry.shape);
}

bool is_attention(TunedKernel kernel) {
    return kernel == TunedKernel::attention || kernel == TunedKernel::attention_decode;
}

} // namespace

std::string_view to_string(TunedKernel kernel) {
    switch (kernel) {
    case TunedKernel::linear:
        return "linear";
    case TunedKernel::fused_linear:
        return "fused_linear";
    case TunedKernel::gated_linear:
        return "gated_linear";
    case TunedKernel::attention:
        return "attention";
    case TunedKernel::attention_decode:
        break;
    }
    return "attention_decode";
}

std::optional<TunedKernel> tuned_kernel_named(std::string_view name) {
    const auto* const found =
        std::ranges::find(tuned_kernels, name, [](TunedKernel one) { return to_string(one); });
    return found == tuned_kernels.end() ? std::nullopt : std::optional(*found);
}

std::string describe(const TunedShape& shape) {
    if (is_attention(shape.kernel)) {
        return fmt::format("{}, heads of {}, {} to {}", to_string(shape.kernel), shape.columns, shape.rows,
                           shape.kv_heads);
    }
    return fmt::format("{} {} {} x {}", to_string(shape.kernel), to_string(shape.layout.format), shape.rows,
                       shape.columns);
}

std::string describe(const TunedShape& shape, const WorkgroupSizes& sizes) {
    std::string text = sizes.workgroup == 0 ? "" : fmt::format("workgroup {}, ", sizes.workgroup);
    const std::string_view unit = is_attention(shape.kernel)                      ? "head"
                                  : shape.layout.arrangement == Arrangement::rows ? "row"
                                                                                  : "group";
    text += fmt::format("{} {}{}", sizes.rows, unit, sizes.rows == 1 ? "" : "s");
    if (unit == "group")
        text += " of rows";
    if (sizes.subgroup != 0)
        text += fmt::format(", subgroup {}", sizes.subgroup);
    return text;
}

void Tuning::set(const TunedShape& shape, const WorkgroupSizes& sizes) {
    const auto found = std::ranges::lower_bound(entries_, rank(shape), {}, rank_of_entry);
    if (found != entries_.end() && found->shape == shape) {
        found->sizes = sizes;
    } else {
        entries_.insert(found, {.shape = shape, .sizes = sizes});
    }
}

std::optional<WorkgroupSizes> Tuning::find(const TunedShape& shape) const {
    const auto found = std::ranges::lower_bound(entries_, rank(shape), {}, rank_of_entry);
    const bool is_found = found != entries_.end() && found->shape == shape;
    return is_found ? std::optional(found->sizes) : std::nullopt;
}

} // namespace etna::kernels
