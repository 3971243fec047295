#pragma once

#include "core/engine/executor.hpp"
#include "core/runtime/device_turns.hpp"

#include <memory>

namespace etna::runtime {

/// Wraps an executor so that submit() waits for the client's turn on the device, and wait() reports the
/// device time of each batch (Outputs::device_ms). Executors of one engine share a client.
std::unique_ptr<engine::Executor> scheduled(std::unique_ptr<engine::Executor> executor,
                                            std::shared_ptr<DeviceClient> client);

} // namespace etna::runtime
