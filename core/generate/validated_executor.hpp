#pragma once

#include "core/engine/executor.hpp"
#include "core/vk/instance.hpp"

#include <memory>

namespace etna::generate {

/// Turns every message of the Vulkan validation layer into an error of the next submit() or wait(): for
/// builds with ETNA_CHECKS, in which the layer is on. `instance` is borrowed and must outlive the executor.
std::unique_ptr<engine::Executor> validated(std::unique_ptr<engine::Executor> executor,
                                            const vk::Instance& instance);

} // namespace etna::generate
