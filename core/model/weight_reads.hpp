#pragma once

#include <cstdint>
#include <optional>

namespace etna::model {

struct Blueprint;

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

/// Pure.
WeightReads weight_reads(const Blueprint& blueprint);

} // namespace etna::model
