#pragma once

#include "core/base/result.hpp"
#include "core/runtime/device_rates.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/executor_factory.hpp"
#include "core/runtime/kernel_bench.hpp"
#include "core/runtime/tuning.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace etna::vk {
class Instance;
struct PhysicalDevice;
} // namespace etna::vk

namespace etna::runtime {

class SharedDevice;

/// Checks of every step, for tests: the validation layer, the engine's invariants. A finding fails the step.
enum class Checks : uint8_t { off, on };

/// The process's only owner of Vulkan: opens the instance once, and shares each open device among all models,
/// drafts, self-checks and listings. Thread-safe.
///
///     Runtime runtime;
///     ETNA_TRY(LoadedExecutor loaded, runtime.load(file, {.sequences_max = 4}));
class Runtime {
public:
    explicit Runtime(Checks checks = Checks::off) : checks_(checks) {}

    /// Selects a device, self-checks the kernels that the model needs and that were not checked on it before
    /// (self_check.hpp), and uploads the weights, while other models generate. An ExecutorFactory. The
    /// executor takes turns on the device with those of other models (device_schedule.hpp). The result keeps
    /// instance and device alive, and they may outlive the Runtime. Blocking. Errors: those of
    /// vk::Instance::create, not_found and invalid_argument (the requested device), out_of_memory,
    /// device_lost, unsupported and corrupt (the model).
    Result<LoadedExecutor> load(const gguf::File& file, const ExecutorOptions& options);

    /// Reports on every device. A DeviceLister. Blocking. Errors: those of vk::Instance::create, not_found
    /// and invalid_argument (`device`).
    Result<DeviceReports> list(std::string_view device, const std::filesystem::path& cache_folder);

    /// Measures kernels on a device, after the self-check of all of them. A KernelBench. Blocking. Errors:
    /// those of vk::Instance::create and bench_kernels(), not_found and invalid_argument (the requested
    /// device).
    Result<KernelTimings> bench(const KernelBenchOptions& options);

    /// Returns the stored rates of a device, or measures and stores them. A RateMeter. Blocking. Errors:
    /// those of vk::Instance::create and measure_rates(), not_found and invalid_argument (the requested
    /// device).
    Result<DeviceRates> rates(const RateRequest& request);

    /// Measures the sizes of the kernels that the model in the file needs, after their self-check, and stores
    /// them; loads of models use them from then on. A ModelTuner. Blocking. Errors: those of
    /// vk::Instance::create, model::plan_model() and tune_shapes(), not_found and invalid_argument (the
    /// requested device).
    Result<TuneReport> tune(const gguf::File& file, const TuneRequest& request);

    /// A TuningReset. Blocking. Errors: those of vk::Instance::create, not_found and invalid_argument (the
    /// requested device).
    Result<std::string> forget_tuning(std::string_view device, const std::filesystem::path& cache_folder);

private:
    Result<std::shared_ptr<vk::Instance>> instance();
    Result<std::shared_ptr<SharedDevice>> open(const vk::PhysicalDevice& physical,
                                               const std::filesystem::path& cache_folder);

    const Checks checks_;
    std::mutex mutex_; ///< guards the members below
    std::shared_ptr<vk::Instance> instance_;
    std::map<uint32_t, std::weak_ptr<SharedDevice>> devices_; ///< by index
};

} // namespace etna::runtime
