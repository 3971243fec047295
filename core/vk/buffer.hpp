#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/range.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace etna::vk {

class Device;

/// Intended use of memory; the allocator maps it to memory types.
enum class MemoryDomain : uint8_t {
    device,   ///< fastest for shaders; mapped only if all device memory is (CPU and unified devices may be)
    upload,   ///< written by the host in order, read by the device; mapped
    readback, ///< written by the device, read by the host; mapped and cached
};

/// A range of device memory with an address (bufferDeviceAddress). Move-only. Destruction is deferred: the
/// memory returns to the pool when all work submitted before has completed. Must not outlive its Device.
class Buffer {
public:
    /// `bytes` > 0; the address is a multiple of 256. `label` names the buffer in captures and errors.
    /// Errors: out_of_memory (with the requested and the free size), invalid_argument (zero, or not below the
    /// device's largest allocation).
    static Result<Buffer> create(Device& device, MemoryDomain memory, uint64_t bytes, std::string_view label);

    Buffer(); ///< empty: no range
    Buffer(Buffer&&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] uint64_t bytes() const;
    [[nodiscard]] Range range() const;
    [[nodiscard]] Range range(uint64_t offset, uint64_t length) const { return range().part(offset, length); }

    /// Host view; empty when not mapped. Host writes before submit() are visible to that submission, device
    /// writes after wait() to the host; neither needs further calls.
    [[nodiscard]] MutableByteView mapped() const;

    struct Impl; ///< for core/vk itself

private:
    friend class Recorder;
    explicit Buffer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::vk
