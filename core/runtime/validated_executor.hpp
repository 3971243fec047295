#pragma once

#include "core/engine/executor.hpp"
#include "core/vk/instance.hpp"

#include <memory>

namespace etna::runtime {

/// Wraps an executor so that every message of the Vulkan validation layer fails the next submit() or wait().
/// The engine then verifies its invariants, too. `instance`, with the layer, is borrowed and must outlive the
/// executor.
std::unique_ptr<engine::Executor> validated(std::unique_ptr<engine::Executor> executor,
                                            const vk::Instance& instance);

} // namespace etna::runtime
