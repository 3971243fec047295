#pragma once

#include "shaders/variants.hpp"

#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// A set of shader variants, as a value.
class VariantSet {
public:
    void add(shaders::Variant variant) { members_.set(static_cast<std::size_t>(variant)); }
    void add(const VariantSet& others) { members_ |= others.members_; }
    [[nodiscard]] bool contains(shaders::Variant variant) const {
        return members_.test(static_cast<std::size_t>(variant));
    }
    [[nodiscard]] std::size_t size() const { return members_.count(); }
    [[nodiscard]] bool empty() const { return members_.none(); }

    /// Names of the members, in the manifest's order; static.
    [[nodiscard]] std::vector<std::string_view> names() const;

    bool operator==(const VariantSet&) const = default;

private:
    std::bitset<shaders::variant_count> members_;
};

/// The variant of this name in this build.
std::optional<shaders::Variant> variant_named(std::string_view name);

} // namespace etna::kernels
