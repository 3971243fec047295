#pragma once

#include "core/kernels/layout.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// Kernels whose sizes can be measured instead of taken from policy.
enum class TunedKernel : uint8_t {
    linear,       ///< linear() and linear_stack(): decode rows; in lanes, all rows
    fused_linear, ///< a matrix with the next norm
    gated_linear, ///< gate and up with their activation
    attention,    ///< the general kernel
    attention_decode,
};

std::string_view to_string(TunedKernel kernel);
std::optional<TunedKernel> tuned_kernel_named(std::string_view name);

/// The shape that a choice of sizes is for: of one matrix, of the matrices of a stack together, or of the
/// heads of attention. It excludes the number of rows in a step, so that a row has the same bits in
/// every step.
struct TunedShape {
    TunedKernel kernel = TunedKernel::linear;
    Layout layout = {};    ///< of matrices
    uint32_t rows = 0;     ///< of weights; query heads
    uint32_t columns = 0;  ///< of weights; elements of a head
    uint32_t kv_heads = 0; ///< of attention

    bool operator==(const TunedShape&) const = default;
};

/// Display name: "linear q4_k 4096 x 4096".
std::string describe(const TunedShape& shape);

/// The sizes of a kernel's workgroups. Those that a kernel does not have are 0.
struct WorkgroupSizes {
    uint32_t workgroup = 0; ///< invocations; they share the columns of a matrix
    uint32_t rows = 0;      ///< weight rows (lanes, tiles: groups of 8), or query heads, of one workgroup
    uint32_t subgroup = 0;  ///< required size of a subgroup; 0: the driver's choice

    bool operator==(const WorkgroupSizes&) const = default;
};

/// Display text: "workgroup 256, 2 groups of rows".
std::string describe(const TunedShape& shape, const WorkgroupSizes& sizes);

/// Measured sizes by shape, as a value. A model has about ten shapes.
class Tuning {
public:
    struct Entry {
        TunedShape shape;
        WorkgroupSizes sizes;

        bool operator==(const Entry&) const = default;
    };

    /// Adds a choice, or replaces the shape's.
    void set(const TunedShape& shape, const WorkgroupSizes& sizes);
    [[nodiscard]] std::optional<WorkgroupSizes> find(const TunedShape& shape) const;
    [[nodiscard]] std::span<const Entry> entries() const { return entries_; }

    bool operator==(const Tuning&) const = default;

private:
    std::vector<Entry> entries_; ///< in ascending order of their shapes
};

} // namespace etna::kernels
