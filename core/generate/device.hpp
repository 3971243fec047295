#pragma once

#include "core/generate/model.hpp"

namespace etna::generate {

/// The factory that users run: opens the Vulkan loader, chooses a device, checks the kernels that the model
/// needs when they are new to it (self_check.hpp), and puts the weights on it.
/// Blocking. Errors: no_device, not_found and invalid_argument (the wished device), out_of_memory,
/// device_lost, unsupported and corrupt (the model).
Result<LoadedExecutor> device_executor(const gguf::File& file, const ExecutorOptions& options);

} // namespace etna::generate
