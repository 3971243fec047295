#pragma once

#include "core/base/result.hpp"
#include "core/kernels/launcher.hpp"
#include "core/model/arena.hpp"
#include "core/model/model.hpp"
#include "core/model/step.hpp"
#include "core/model/workspace.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::model {

/// The shape of a step with rows of one path.
struct DryStep {
    kernels::RowPath path = kernels::RowPath::decode;
    uint32_t rows = 1;
    uint32_t output_rows = 0;
    uint32_t candidates = 1;
    uint32_t context_tokens = 1; ///< that each row attends to
    kernels::CacheFormats cache_formats = {};
    bool returns_hidden = false;
    bool has_drafts = false; ///< also records the draft head
};

/// What a step launches, and the scratch memory that it takes.
struct DryRecording {
    kernels::LaunchList launches;
    ArenaSizes arena;
};

/// A model without a device: its weights, states and inputs lie at made-up addresses, so that steps can be
/// recorded but not run. Immutable.
class DryModel {
public:
    /// Borrows `target`.
    DryModel(const Blueprint& blueprint, const kernels::PlanTarget& target);

    /// Takes time in proportion to the launches: about a microsecond each. Errors: those of recording a step.
    [[nodiscard]] Result<DryRecording> record(const DryStep& step) const;

    [[nodiscard]] const Config& config() const { return config_; }
    [[nodiscard]] const kernels::PlanTarget& target() const { return target_; }
    [[nodiscard]] const std::vector<PlannedTensor>& tensors() const { return tensors_; }
    /// The index of the tensor that has the byte at `address`; empty if none has. Linear in their number.
    [[nodiscard]] std::optional<std::size_t> tensor_at(uint64_t address) const;

private:
    [[nodiscard]] std::vector<LayerState> states(const DryStep& step) const;
    [[nodiscard]] Step step_of(const DryStep& step) const;

    Config config_;
    const kernels::PlanTarget& target_;
    std::vector<PlannedTensor> tensors_;
    Weights weights_;
    Decoder decoder_; ///< borrows weights_
};

} // namespace etna::model
