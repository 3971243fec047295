#include "core/engine/device/recorded_steps.hpp"

#include <algorithm>
#include <utility>

namespace etna::engine {

vk::CommandBuffer* RecordedSteps::find(const StepShape& shape) {
    const auto found = std::ranges::find(steps_, shape, &Recorded::shape);
    if (found == steps_.end())
        return nullptr;
    std::rotate(steps_.begin(), found, found + 1);
    return &steps_.front().commands;
}

vk::CommandBuffer& RecordedSteps::insert(const StepShape& shape, vk::CommandBuffer commands) {
    if (steps_.size() == steps_max)
        steps_.pop_back();
    return steps_.insert(steps_.begin(), {.shape = shape, .commands = std::move(commands)})->commands;
}

} // namespace etna::engine
