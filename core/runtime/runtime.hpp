#pragma once

#include "core/runtime/devices.hpp"
#include "core/runtime/executor_factory.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>

namespace etna::vk {
class Instance;
}

namespace etna::runtime {

/// Owns the process's only Vulkan instance, shared by every load and listing. The first call that needs it
/// creates it; after a failure the next call retries. Thread-safe.
class Devices {
public:
    /// Errors: those of vk::Instance::create.
    Result<std::shared_ptr<vk::Instance>> instance();

    /// Selects a device, self-checks the kernels that the model needs and that were not checked on it before
    /// (self_check.hpp), and uploads the weights. An ExecutorFactory. The result keeps the instance alive.
    /// Blocking. Errors: those of instance(), not_found and invalid_argument (the requested device),
    /// out_of_memory, device_lost, unsupported and corrupt (the model).
    Result<LoadedExecutor> load(const gguf::File& file, const ExecutorOptions& options);

    /// Reports on every device. A DeviceLister. Blocking. Errors: those of instance(), not_found and
    /// invalid_argument
    /// (`device`).
    Result<DeviceReports> list(std::string_view device, const std::filesystem::path& cache_folder);

private:
    std::mutex mutex_; ///< guards instance_
    std::shared_ptr<vk::Instance> instance_;
};

} // namespace etna::runtime
