#pragma once

#include "core/vk/buffer.hpp"
#include "core/vk/device.hpp"
#include "core/vk/pipeline.hpp"
#include "core/vk/recorder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::test {

/// SPIR-V of the .comp files in this folder.
std::span<const uint32_t> scale_add_code();
std::span<const uint32_t> add_one_code();
std::span<const uint32_t> subgroup_code();

struct ScaleAddPush {
    uint64_t x = 0;
    uint64_t y = 0;
    float a = 0;
    uint32_t count = 0;
};

struct AddOnePush {
    uint64_t from = 0;
    uint64_t to = 0;
    uint32_t count = 0;
    uint32_t rounds = 1;
};

template <class T>
ByteView bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

/// Unwraps a Result, or fails the test with its error.
template <class T>
T must(Result<T> result) {
    if (!result)
        FAIL(result.error().message << " (" << result.error().hint << ")");
    return std::move(result).value();
}
inline void must(const Status& status) {
    if (!status)
        FAIL(status.error().message << " (" << status.error().hint << ")");
}

vk::Pipeline make_add_one(vk::Device& device);

/// Records to[i] = from[i] + rounds on entire buffers of words.
void add_one(vk::Recorder& recorder, const vk::Pipeline& pipeline, const vk::Range& from, const vk::Range& to,
             uint32_t rounds = 1);

/// Finishes, submits and waits.
void run(vk::Device& device, vk::Recorder& recorder);

/// Brings words to the device, and back, through staging buffers.
void write_words(vk::Device& device, const vk::Buffer& buffer, const std::vector<uint32_t>& words);
std::vector<uint32_t> read_words(vk::Device& device, const vk::Buffer& buffer, size_t count);

} // namespace etna::test
