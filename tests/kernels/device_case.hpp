#pragma once

#include "core/kernels/rows.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace etna::test {

/// Buffers and one recording on the test device, for one kernel under one plan family. Every failure of the
/// rooms below fails the test with its message.
class DeviceCase {
public:
    explicit DeviceCase(kernels::PlanFamily family);
    /// Precondition: see shared_library().
    explicit DeviceCase(const kernels::LibraryOptions& options);
    explicit DeviceCase(std::shared_ptr<kernels::Library> library);

    [[nodiscard]] kernels::Library& library() { return *library_; }

    /// Memory with this content, followed by a guard; download() checks that it is unchanged.
    vk::Range upload_bytes(ByteView content);
    template <class T>
    vk::Range upload(std::span<const T> content) {
        return upload_bytes(std::as_bytes(content));
    }
    template <class T>
    vk::Range upload(const std::vector<T>& content) {
        return upload_bytes(std::as_bytes(std::span(content)));
    }

    /// [rows][stride] with zeros after the columns; `content` is [rows][columns].
    kernels::Activations upload_rows(const std::vector<float>& content, uint32_t rows, uint32_t columns);

    /// Records, submits and waits. May be called repeatedly.
    void run(const std::function<void(kernels::Library&, vk::Recorder&)>& record);

    /// The content of a range that upload gave out; checks its guard.
    std::vector<std::byte> download_bytes(vk::Range range);
    template <class T>
    std::vector<T> download(vk::Range range) {
        const std::vector<std::byte> bytes = download_bytes(range);
        std::vector<T> content(bytes.size() / sizeof(T));
        std::memcpy(content.data(), bytes.data(), content.size() * sizeof(T));
        return content;
    }
    /// [rows][columns]; checks that the padding columns are still zero.
    std::vector<float> download_rows(const kernels::Activations& activations);

private:
    struct Memory {
        vk::Buffer buffer;
        uint64_t bytes = 0; ///< without the guard
    };

    std::shared_ptr<kernels::Library> library_;
    std::vector<Memory> memories_;
};

/// Every family, or with runs_once() that of the device; plans for a family that the device cannot run (lanes
/// on narrow subgroups) fall back.
std::vector<kernels::PlanFamily> all_families();

/// Selects the shape for number `format` of a list of formats under number `family` of a list of families. In
/// a sample each format has the same shape under every family: the GPU families have one plan for most
/// shapes, so that they share its pipeline, whose compilation is most of a kernel test. In a full product the
/// shapes differ.
std::size_t shape_number(std::size_t family, std::size_t format);

/// Numbers in [-1, 1), the same with every standard library.
std::vector<float> random_floats(std::mt19937& random, std::size_t count);

} // namespace etna::test
