#include "core/kernels/variant_set.hpp"

namespace etna::kernels {

std::vector<std::string_view> VariantSet::names() const {
    std::vector<std::string_view> names;
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        if (members_.test(index))
            names.push_back(shaders::code(static_cast<shaders::Variant>(index)).name);
    }
    return names;
}

std::optional<shaders::Variant> variant_named(std::string_view name) {
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        if (shaders::code(variant).name == name)
            return variant;
    }
    return std::nullopt;
}

} // namespace etna::kernels
