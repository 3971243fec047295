#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/device.hpp"

#include <array>
#include <cstdint>

namespace etna::model {

/// Uploads bytes to device buffers through two halves of staging memory: one is filled while the other is
/// copied. If the device buffer is mapped, bytes are written directly to it. Belongs to one thread.
///
///     ETNA_TRY(auto staging, uploader.begin(buffer, offset, bytes));   // may block until a half is free
///     fill(staging);
///     ETNA_CHECK(uploader.end());
class Uploader {
public:
    /// Maximum bytes of one begin().
    static constexpr uint64_t slice_bytes_max = 8 * mebibyte;

    explicit Uploader(vk::Device& device) : device_(device) {}

    /// Returns the memory to fill with the content of [offset, offset + bytes) of `to` (borrowed until
    /// end()); valid until end(). Errors: out_of_memory, device_lost.
    Result<MutableByteView> begin(const vk::Buffer& to, uint64_t offset, uint64_t bytes);
    Status end();

    /// Blocks until everything has arrived. Errors: device_lost.
    Status finish();

private:
    struct Half {
        vk::Buffer buffer;
        uint64_t copied_at = 0; ///< timeline value of its last copy
    };

    vk::Device& device_;
    std::array<Half, 2> halves_;
    uint32_t current_ = 0;
    const vk::Buffer* target_ = nullptr; ///< null while writing directly
    uint64_t offset_ = 0;
    uint64_t bytes_ = 0;
};

} // namespace etna::model
