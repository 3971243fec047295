#pragma once

#include "core/kernels/library.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::kernels {

class KernelRun;
struct Operation;

/// The kernels that a caller needs of those that the plans for a target select: their variants. Empty: all.
using NeededKernels = std::function<Result<VariantSet>(const PlanTarget& target)>;

/// A kernel that the plans for a device select, and its use.
struct KernelUse {
    const Operation* operation = nullptr; ///< static, never null
    shaders::Variant variant = {};
    std::optional<Layout> layout = {}; ///< of the weights that it reads; empty: it reads none
    std::optional<RowPath> path = {};  ///< of its rows; empty: the operation has one kernel for both
    OperandPrecision factors = OperandPrecision::f16_allowed;
};

/// The weights that an operation reads besides vectors: a matrix or table, or matrices of experts or heads.
enum class WeightKind : uint8_t { none, matrix, stack };

/// An operation of the forward pass as the lists of kernels know it. Its arguments and launch are in its
/// header in operations/. Values are static constants; operations.cpp lists them.
struct Operation {
    std::string_view name;
    WeightKind weights = WeightKind::none;

    /// Lists the kernels that the plans for a target select. Pure.
    std::vector<KernelUse> (*uses)(const PlanTarget& target) = nullptr;

    /// Records the kernel of a use on small problems of odd sizes, and states the expected results: the
    /// operation's formula in double precision. Inputs that another kernel would produce come from the host,
    /// so that a failure implicates this kernel alone.
    void (*make_problem)(KernelRun& run, const KernelUse& use) = nullptr;

    /// The same for a shape whose sizes are measured (tune.hpp), with a row count for each of its pipelines.
    /// Null: none are measured.
    void (*make_tuned_problem)(KernelRun& run, const TunedShape& shape) = nullptr;
};

} // namespace etna::kernels
