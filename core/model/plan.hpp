#pragma once

#include "core/base/result.hpp"
#include "core/kernels/tuning.hpp"
#include "core/kernels/variant_set.hpp"
#include "core/model/arena.hpp"
#include "core/model/dry_model.hpp"
#include "core/model/workspace.hpp"

#include <cstdint>
#include <optional>
#include <vector>

// What the steps of a model need, found by recording them without a device.
namespace etna::model {

/// The scratch memory of every step within `options`. Scratch memory grows with rows and context, so that the
/// largest step of each path decides. Errors: those of DryModel::record().
Result<ArenaSizes> arena_sizes(const DryModel& model, const WorkspaceOptions& options);

/// The weights that a step reads from device memory, each counted once: all but the rows of the embedding
/// table, unless it is the head too, and but the experts that no row chooses.
struct WeightReads {
    /// Weights that a row of a prompt is multiplied by: of the layers' matrices and of the experts that it
    /// chooses; not of the head, which serves the last row alone.
    uint64_t row_weights = 0;

    uint64_t shared_bytes = 0; ///< read by every step with an output
    uint64_t expert_bytes = 0; ///< read by one row in addition: the experts that it chooses; 0: no mixture

    /// Returns the weight bytes that a step with `rows` generation rows reads. Empty if that depends on the
    /// experts that the rows choose.
    [[nodiscard]] std::optional<uint64_t> bytes(uint32_t rows) const {
        if (rows > 1 && expert_bytes != 0)
            return std::nullopt;
        return shared_bytes + expert_bytes;
    }
};

/// Errors: those of DryModel::record().
Result<WeightReads> weight_reads(const DryModel& model);

/// The shader variants that steps launch, of any number of rows and any context, with these formats of keys
/// and values or with Q8_0, which replaces them where memory is short. Errors: those of DryModel::record().
Result<kernels::VariantSet> used_kernels(const DryModel& model, kernels::CacheFormats formats);

/// The shapes of a model's matrices and attention whose sizes can be measured on its target, of the launches
/// for decode rows, and of prompts as far as they have any. Each is listed once. Errors: those of
/// DryModel::record().
Result<std::vector<kernels::TunedShape>> tuned_shapes(const DryModel& model);

} // namespace etna::model
