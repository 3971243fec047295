#pragma once

#include "core/kernels/operations/experts.hpp"
#include "tests/kernels/weight_source.hpp"
#include "tests/reference/operations.hpp"

#include <limits>
#include <optional>
#include <set>
#include <string>

namespace etna::test {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

/// Memory for choices and groups, all of it NaN at first.
struct Choices {
    kernels::ExpertRouting choice;
    kernels::ExpertGroups groups;
};
Choices make_choices(DeviceCase& device, uint32_t rows, uint32_t count, uint32_t experts_per_token,
                     kernels::Arrangement arrangement = kernels::Arrangement::rows);

std::vector<double> row_of(const std::vector<float>& all, std::size_t row, std::size_t width);

struct ExpertShape {
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t rows;
    uint32_t width;  ///< of input
    uint32_t height; ///< of output
};

std::string describe(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape);

/// Experts of random pairs: odd ones have none.
std::vector<uint32_t> even_experts(std::mt19937& random, const ExpertShape& shape);

/// Matrices of a stack; those of unused experts have every bit set, which is NaN.
struct Stack {
    kernels::MatrixStack device;
    std::vector<reference::Matrix> values;
};
Stack make_stack(DeviceCase& device, std::mt19937& random, kernels::Layout layout, const ExpertShape& shape,
                 const std::set<uint32_t>& in_use);

/// Rows on the device, packed if the matrices read them.
kernels::Activations upload_input(DeviceCase& device, const Stack& stack, const std::vector<float>& x,
                                  uint32_t rows, uint32_t width);

/// Largest difference of a device's product of an expert's row with x: product_bound(), or tiles_bound() of
/// matrices in tiles.
double bound(const Stack& stack, uint32_t expert, std::size_t row, std::span<const double> x);

} // namespace etna::test
