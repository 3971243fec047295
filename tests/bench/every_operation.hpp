#pragma once

#include "core/kernels/operation.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

// The operations that the forward pass records, over the shapes and formats that kernels are specialised for.
namespace etna::bench {

/// One operation of one shape. Its ranges have no memory: it may be recorded, but never submitted.
struct OperationCase {
    std::string name; ///< "attention f16, heads of 128, 4 query heads each"
    std::function<void(kernels::Library&, vk::Recorder&)> record;
};

/// Every operation in all forms that have a separate pipeline on the target: shader_stats fails on a variant
/// that nothing here asks for. A new kernel needs its cases in operations/, and a row in every_operation.cpp.
std::vector<OperationCase> every_operation(const kernels::PlanTarget& target);

/// Whether every_operation() has a row for it.
bool has_cases(const kernels::Operation& operation);

/// The kernels that read codes of their inputs. Without them, a target runs those that read f16.
inline kernels::VariantSet codes_kernels() {
    kernels::VariantSet found;
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        if (shaders::code(variant).name.find("_codes_") != std::string_view::npos)
            found.add(variant);
    }
    return found;
}

/// The kernels that need matrix units. Without them, a target runs those of devices that have none.
inline kernels::VariantSet matrix_kernels() {
    constexpr auto needed = static_cast<uint32_t>(shaders::Feature::cooperative_matrix);
    kernels::VariantSet found;
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        if ((shaders::code(variant).required & needed) != 0)
            found.add(variant);
    }
    return found;
}

} // namespace etna::bench
