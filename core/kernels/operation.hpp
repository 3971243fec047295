#pragma once

#include "core/kernels/library.hpp"
#include "core/kernels/rows.hpp"

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::kernels {

class KernelRun;
struct Operation;

using FormatSet = std::bitset<format_count>; ///< bits are numbered by Format

/// A subset of the kernels, such as those that a model needs.
struct KernelScope {
    FormatSet tables = {};           ///< of embeddings
    FormatSet matrices = {};         ///< of layers and head
    FormatSet stacks = {};           ///< of experts' matrices, or heads'; empty: there are none
    bool delta_nets = false;         ///< layers with a gated delta net
    bool short_convolutions = false; ///< layers with a gated convolution
    bool mamba2 = false;             ///< layers of Mamba 2
    bool altup = false;              ///< several streams with alternating updates
    bool latents = false;            ///< layers with latent attention
    bool suppressed = false;         ///< tokens that are never sampled
    bool odd_columns = false;        ///< some widths are no multiple of tile_columns

    static KernelScope everything();
};

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

    /// Lists the kernels that the plans for a target select within a scope. Pure.
    std::vector<KernelUse> (*uses)(const PlanTarget& target, const KernelScope& scope) = nullptr;

    /// Records the kernel of a use on small problems of odd sizes, and states the expected results: the
    /// operation's formula in double precision. Inputs that another kernel would produce come from the host,
    /// so that a failure implicates this kernel alone.
    void (*make_problem)(KernelRun& run, const KernelUse& use) = nullptr;

    /// The same for a shape whose sizes are measured (tune.hpp), with a row count for each of its pipelines.
    /// Null: none are measured.
    void (*make_tuned_problem)(KernelRun& run, const TunedShape& shape) = nullptr;
};

} // namespace etna::kernels
