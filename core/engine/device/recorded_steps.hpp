#pragma once

#include "core/engine/batch.hpp"
#include "core/model/step.hpp"
#include "core/vk/recorder.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::engine {

/// A row whose logits or hidden state is copied to the host.
struct CopiedRow {
    OutputKind kind = OutputKind::logits; ///< or hidden
    uint32_t at = 0;                      ///< see OutputRow::at

    bool operator==(const CopiedRow&) const = default;
};

/// Everything that determines the commands of a step without copies, in addition to the model and the memory
/// of the submission: steps of equal shapes have the same commands, and differ in the bytes that they upload.
struct StepShape {
    model::Step step;
    uint64_t input_bytes = 0; ///< uploaded
    std::vector<CopiedRow> copied_rows;
    bool runs_draft_head = false;

    bool operator==(const StepShape&) const = default;
};

/// The commands of steps that one submission's memory has had, by their shapes; the least recently used are
/// dropped. Belongs to one thread.
class RecordedSteps {
public:
    static constexpr std::size_t steps_max = 8; ///< enough for the draft and sequence counts that alternate

    /// Null if no step of the shape is held. Valid until the next insert().
    [[nodiscard]] vk::CommandBuffer* find(const StepShape& shape);
    /// Precondition: no step of the shape is held. Valid until the next insert().
    vk::CommandBuffer& insert(const StepShape& shape, vk::CommandBuffer commands);

private:
    struct Recorded {
        StepShape shape;
        vk::CommandBuffer commands;
    };
    std::vector<Recorded> steps_; ///< the most recently used first
};

} // namespace etna::engine
