#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/tune.hpp"
#include "core/runtime/device_file.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::runtime {

/// Sizes that were measured on a device.
struct StoredChoice {
    kernels::TunedShape shape;
    kernels::WorkgroupSizes sizes;
    double time_us = 0;
    double policy_us = 0; ///< with the policy's sizes; 0: their results were wrong
    std::string date;     ///< of the measurement: "2026-11-26"
    kernels::Precision precision = kernels::Precision::exact; ///< of the models that use them

    bool operator==(const StoredChoice&) const = default;
};

/// The measured sizes of one device, driver and build, stored on disk: of all models together.
class StoredTuning {
public:
    /// With an empty folder nothing is stored. `family`: the kernel family selected for the device.
    StoredTuning(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                 kernels::PlanFamily family, kernels::Precision precision);

    /// Returns the stored choices, each among kernels::tuning_candidates() of the target; none and a logged
    /// warning if the file is damaged, of another build or device, or holds anything else.
    [[nodiscard]] std::vector<StoredChoice> read(const kernels::PlanTarget& target) const;
    /// Replaces the choices atomically. Errors: io.
    [[nodiscard]] Status write(std::span<const StoredChoice> choices) const;
    /// Removes the file, if there is one. Errors: io.
    [[nodiscard]] Status forget() const;

private:
    DeviceFile file_;
};

/// The sizes alone.
kernels::Tuning tuning_of(std::span<const StoredChoice> choices);

struct TuneRequest {
    std::string device;                 ///< as for ExecutorOptions
    std::filesystem::path cache_folder; ///< not empty
    kernels::Precision precision = kernels::Precision::exact;
    std::optional<kernels::PlanFamily> plan_as =
        {}; ///< select kernels as for this family; empty: the device's
    /// Called before each shape, with its number from 0; may be empty.
    std::function<void(const kernels::TunedShape& shape, std::size_t number, std::size_t total)> progress;
    CancelPoll is_cancelled; ///< polled between candidates; may be empty
};

/// The results of `etna tune`.
struct TuneReport {
    std::string device_name;
    std::vector<kernels::TunedChoice> choices;
    std::vector<kernels::TunedShape> left_out; ///< no candidate's results were right: the policy stays
    bool is_cancelled = false;                 ///< before the last shape; the choices are stored
};

/// Measures the shapes of a model's kernels on a device, and stores each choice immediately.
using ModelTuner = std::function<Result<TuneReport>(const gguf::File& file, const TuneRequest& request)>;
/// Removes a device's stored choices; returns its name. `device`, `cache_folder`: as for TuneRequest.
using TuningReset =
    std::function<Result<std::string>(std::string_view device, const std::filesystem::path& cache_folder)>;

/// `options`: of the device's library. Blocks. Errors: those of kernels::tune(), and io.
Result<TuneReport> tune_shapes(vk::Device& device, std::span<const kernels::TunedShape> shapes,
                               const kernels::TuneOptions& options, const TuneRequest& request);

} // namespace etna::runtime
