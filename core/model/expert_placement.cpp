#include "core/model/expert_placement.hpp"

#include "core/model/model.hpp"
#include "core/vk/sub_allocator.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// N of "blk.N.…", 0 for other names.
uint32_t layer_of(std::string_view name) {
    constexpr std::string_view prefix = "blk.";
    uint32_t layer = 0;
    if (name.starts_with(prefix))
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
    return layer;
}

/// Layers with experts, in order.
std::set<uint32_t> stacked_layers(const Blueprint& blueprint) {
    std::set<uint32_t> layers;
    for (const PlannedTensor& tensor : blueprint.tensors) {
        if (tensor.holds_experts())
            layers.insert(layer_of(tensor.name));
    }
    return layers;
}

} // namespace

std::string text_of(const HostExperts& experts) {
    const std::string layers = experts.layers == 1 ? "layer" : fmt::format("{} layers", experts.layers);
    return fmt::format(
        "experts of the last {} ({:.1f} GiB) are in host memory: each token reads up to {:.0f} "
        "MiB from there, which slows generation",
        layers, static_cast<double>(experts.bytes) / gibibyte,
        static_cast<double>(experts.row_bytes) / mebibyte);
}

uint32_t expert_layers(const Blueprint& blueprint) {
    return static_cast<uint32_t>(stacked_layers(blueprint).size());
}

void place_experts(Blueprint& blueprint, uint32_t layers) {
    const std::set<uint32_t> stacked = stacked_layers(blueprint);
    HostExperts& experts = blueprint.host_experts;
    experts = {.layers = std::min(layers, static_cast<uint32_t>(stacked.size()))};
    const std::set<uint32_t> in_host(std::prev(stacked.end(), experts.layers), stacked.end());
    for (PlannedTensor& tensor : blueprint.tensors) {
        tensor.is_in_host = tensor.holds_experts() && in_host.contains(layer_of(tensor.name));
        if (!tensor.is_in_host)
            continue;
        experts.bytes += vk::allocation_bytes(tensor.device_bytes());
        experts.row_bytes +=
            tensor.device_bytes() / tensor.count * blueprint.config.experts.experts_per_token;
    }
    blueprint.weight_bytes = weight_bytes(blueprint.tensors);
}

} // namespace etna::model
