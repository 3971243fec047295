#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/operation.hpp"
#include "core/runtime/device_turns.hpp"
#include "core/runtime/pipeline_cache.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace etna::runtime {

/// One open device with everything that its models share: stored pipelines, kernel libraries, the turns on
/// its queue. Thread-safe. Must outlive the users of the libraries.
class SharedDevice {
public:
    /// `cache_folder`: for pipelines and self-check results; empty: nothing is stored. Errors: those of
    /// vk::Device::create.
    static Result<std::shared_ptr<SharedDevice>> open(std::shared_ptr<vk::Instance> instance,
                                                      const vk::PhysicalDevice& physical,
                                                      const std::filesystem::path& cache_folder);

    [[nodiscard]] const vk::Instance& instance() const { return *instance_; }
    [[nodiscard]] vk::Device& device() { return *device_; }
    [[nodiscard]] const std::shared_ptr<DeviceTurns>& turns() const { return turns_; }
    /// Locked while a model is planned and loaded.
    [[nodiscard]] std::mutex& load_mutex() { return load_mutex_; }

    /// Returns the library for the family (empty: the device's own) and precision, with the sizes that `etna
    /// tune` has stored, without the kernels that failed the self-check; needed kernels that were not
    /// checked are checked first, and `progress` is that of kernels::self_check(). Blocks, also while another
    /// thread checks. Errors: those of check_kernels().
    Result<std::shared_ptr<kernels::Library>>
    library(std::optional<kernels::PlanFamily> plan_as, kernels::Precision precision,
            const kernels::NeededKernels& needed,
            const std::function<void(std::size_t done, std::size_t total)>& progress = {});

    /// Stores the pipelines that were compiled until now. Blocking.
    void store_pipelines();

private:
    SharedDevice(std::shared_ptr<vk::Instance> instance, std::filesystem::path cache_folder,
                 PipelineCache pipelines, std::unique_ptr<vk::Device> device);

    std::shared_ptr<vk::Instance> instance_;
    std::filesystem::path cache_folder_;
    std::unique_ptr<vk::Device> device_; // declared after the instance, so destroyed before it
    std::shared_ptr<DeviceTurns> turns_ = std::make_shared<DeviceTurns>();

    std::mutex load_mutex_;

    std::mutex mutex_; ///< guards the members below, and serialises self-checks
    PipelineCache pipelines_;
    std::vector<std::shared_ptr<kernels::Library>> libraries_; ///< one for each family, verdict and tuning
};

} // namespace etna::runtime
