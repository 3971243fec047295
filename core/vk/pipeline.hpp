#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::vk {

class Device;

struct PipelineOptions {
    std::string_view label = {};                   ///< for captures, profiles and errors
    std::span<const uint32_t> code = {};           ///< SPIR-V, entry point "main"
    std::span<const uint32_t> specialization = {}; ///< constant ids 0, 1, 2, ... in order
    uint32_t push_constant_bytes = 0; ///< at most 128, or 256 with DeviceProfile::large_push_constants
    /// 0: the driver's choice; needs DeviceProfile::subgroup_size_control.
    uint32_t required_subgroup_size = 0;
};

/// One statistic that the driver's compiler reports for a pipeline: registers, spills, cycles. Names and
/// meanings are driver-specific.
struct PipelineStatistic {
    std::string name;
    double value = 0;
};

/// A compute pipeline. Move-only; creation blocks while the driver compiles and may run on any thread.
class Pipeline {
public:
    /// Errors: unsupported (the driver rejected it; names the label), out_of_memory, device_lost.
    static Result<Pipeline> create(Device& device, const PipelineOptions& options);

    Pipeline(Pipeline&&) noexcept;
    Pipeline& operator=(Pipeline&&) noexcept;
    ~Pipeline();

    [[nodiscard]] const std::string& label() const;

    /// Empty unless DeviceProfile::pipeline_statistics. Errors: out_of_memory.
    [[nodiscard]] Result<std::vector<PipelineStatistic>> statistics() const;

    /// Machine code as the driver disassembles it; empty if it does not, or unless
    /// DeviceProfile::pipeline_statistics. Errors: out_of_memory.
    [[nodiscard]] Result<std::string> disassembly() const;

    struct Impl; ///< for core/vk itself

private:
    friend class Recorder;
    explicit Pipeline(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::vk
