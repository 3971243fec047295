#pragma once

#include "core/base/result.hpp"
#include "core/engine/executor.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/library.hpp"
#include "core/model/expert_placement.hpp"
#include "core/model/plan.hpp"
#include "core/runtime/device_turns.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::runtime {

/// Element type of cached keys or values.
enum class KvType : uint8_t { f16, f32, q8_0 };

/// The phase of a load, and how far it is.
struct LoadProgress {
    enum class Phase : uint8_t {
        checking_kernels,  ///< that are new to this device, driver and build; counts kernels
        reading_weights,   ///< counts bytes
        compiling_kernels, ///< counts the steps whose kernels the driver has compiled
    };
    Phase phase{};
    uint64_t done = 0;
    uint64_t total = 0;
};

/// Options for loading a model onto a device.
struct ExecutorOptions {
    uint32_t context_tokens = 0; ///< 0: the model's own, capped by memory
    KvType key_type = KvType::f16;
    KvType value_type = KvType::f16;
    bool adapts_kv_type = false;    ///< q8_0 instead of f16 if the context needs it; see engine::DeviceSizes
    uint64_t kv_memory_bytes = 0;   ///< 0: one context, more for several sequences if memory is plentiful
    uint64_t state_cache_bytes = 0; ///< for snapshots of recurrent layers; 0: an eighth of the KV cache
    /// Layers whose experts lie in host memory; none: as few as let the model fit; see engine::DeviceSizes
    std::optional<uint32_t> host_expert_layers = std::nullopt;
    /// Limit on the model's memory, on the device and in host memory; the free memory, if that is less.
    uint64_t memory_bytes_max = UINT64_MAX;
    uint32_t context_tokens_min = 0; ///< memory does not cut the model's own context below this
    bool has_draft_head = true;      ///< load the draft head of a file that has one, for speculative decoding
    uint32_t sequences_max = 1;      ///< maximum number of concurrent sequences
    uint32_t batch_tokens_max = 0;   ///< rows per step over all sequences; 0: 512, and 64 on a CPU
    uint32_t queue_max = 256;        ///< maximum number of waiting requests; more are refused
    std::string device;              ///< index, UUID or part of a name; empty: the best device
    std::filesystem::path cache_folder; ///< for compiled kernels; empty: no cache
    bool timestamps = false; ///< measure every dispatch, for LoadedExecutor::timings; steps become slower
    kernels::Precision precision = kernels::Precision::exact;
    std::string plan_as; ///< vendor to select kernels for; empty: the device's own
    /// Client that takes turns on the device for this model: LoadedExecutor::client of its draft model. Null,
    /// or of another device: a new one.
    std::shared_ptr<DeviceClient> client;
    /// Called on the loading thread; may be empty.
    std::function<void(const LoadProgress& progress)> progress;
};

/// A device's memory, counting the use of all processes.
struct DeviceMemory {
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    uint64_t peak_bytes = 0; ///< most that this process has held on the device
};

/// The memory that a model takes on its device, as planned.
struct DeviceMemoryUse {
    uint64_t weights_bytes = 0;
    uint64_t cache_bytes = 0; ///< of keys and values, and of recurrent states with their snapshots
    uint64_t total_bytes = 0; ///< of both, and of everything else
};

/// An executor and the device that it uses.
struct LoadedExecutor {
    std::shared_ptr<void> device; ///< owns the objects that the executor borrows; released after it
    std::shared_ptr<DeviceClient> client = {}; ///< takes turns on the device for the executor; may be null
    std::unique_ptr<engine::Executor> executor;
    std::string device_name;                   ///< for display
    bool on_cpu = false;                       ///< a software device, because no GPU was found
    std::function<DeviceMemory()> memory = {}; ///< thread-safe; may be empty
    uint64_t memory_bytes = 0; ///< that the model takes, as planned: on the device and in host memory
    DeviceMemoryUse device_use = {};
    model::WeightReads weight_reads = {};
    model::HostExperts host_experts = {};
    bool has_adapted_kv_type = false; ///< keys and values are q8_0, by ExecutorOptions::adapts_kv_type
    std::function<Result<double>()> copy_rate = {};   ///< see measure_copy_rate(); may be empty
    std::function<Result<double>()> matrix_rate = {}; ///< see kernels::measure_matrix_rate(); may be empty
    /// Dispatches of the newest completed step, with ExecutorOptions::timestamps, in order. Empty if the
    /// device has no timestamps. Thread-safe; may be empty.
    std::function<std::vector<vk::Timing>()> timings = {};
};

/// Creates an executor for the model in the file. The file is used only during the call.
using ExecutorFactory = std::function<Result<LoadedExecutor>(const gguf::File&, const ExecutorOptions&)>;

} // namespace etna::runtime
