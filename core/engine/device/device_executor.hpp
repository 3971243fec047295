#pragma once

#include "core/base/result.hpp"
#include "core/engine/device/device_plan.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/engine/executor.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/device.hpp"

#include <functional>
#include <memory>

namespace etna::engine {

struct DeviceExecutorOptions {
    DeviceSizes sizes = {};
    bool timestamps = false;        ///< record the device's time around every dispatch
    uint64_t matrix_part_bytes = 0; ///< maximum part of a matrix per buffer; 0: what shaders and device allow
    /// Called once with the memory plan, before weights are read.
    std::function<void(const DevicePlan& plan, const MemoryPlan& memory)> planned;
    /// Called from this thread while weights are read, with the bytes of the file done and in total.
    std::function<void(uint64_t done, uint64_t total)> progress;
    /// Called from this thread while the driver compiles kernels, with the steps prepared and in total.
    std::function<void(uint64_t done, uint64_t total)> compile_progress = {};
};

/// Loads a model onto the device of `library`, which must outlive the executor, and creates every buffer and
/// pipeline that its steps can need. Blocks; may run on any thread, also while other models use the device
/// and the library. `file` is not needed afterwards. Errors: corrupt, unsupported (the file; names tensor or
/// key), out_of_memory (with the bytes needed and free), invalid_argument (options contradict each other),
/// device_lost.
Result<std::unique_ptr<Executor>> create_device_executor(std::shared_ptr<kernels::Library> library,
                                                         const gguf::File& file,
                                                         const DeviceExecutorOptions& options);

} // namespace etna::engine
