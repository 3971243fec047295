#include "tests/kernels/device_case.hpp"

#include "tests/support/samples.hpp"
#include "tests/support/shared_library.hpp"

#include <algorithm>
#include <utility>

namespace etna::test {
namespace {

constexpr uint64_t guard_bytes = 64;
constexpr std::byte guard{0xA5};

template <class T>
T must(Result<T> result) {
    if (!result)
        FAIL(result.error().message);
    return std::move(result).value();
}

void must(const Status& status) {
    if (!status)
        FAIL(status.error().message);
}

} // namespace

DeviceCase::DeviceCase(kernels::PlanFamily family) : DeviceCase(kernels::LibraryOptions{.family = family}) {}

DeviceCase::DeviceCase(const kernels::LibraryOptions& options) : DeviceCase(shared_library(options)) {}

DeviceCase::DeviceCase(std::shared_ptr<kernels::Library> library) : library_(std::move(library)) {}

vk::Range DeviceCase::upload_bytes(ByteView content) {
    const uint64_t bytes = round_up(std::max<uint64_t>(content.size(), 1), 16);
    vk::Device& device = library_->device();
    Memory memory{must(vk::Buffer::create(device, vk::MemoryDomain::device, bytes + guard_bytes, "test")),
                  bytes};
    vk::Buffer staging =
        must(vk::Buffer::create(device, vk::MemoryDomain::upload, bytes + guard_bytes, "test upload"));
    const MutableByteView mapped = staging.mapped();
    std::fill(mapped.begin(), mapped.end(), guard);
    std::fill_n(mapped.begin(), bytes, std::byte{0});
    std::copy(content.begin(), content.end(), mapped.begin());
    run([&](kernels::Library&, vk::Recorder& recorder) {
        recorder.copy(staging, 0, memory.buffer, 0, bytes + guard_bytes);
    });
    const vk::Range range = memory.buffer.range(0, content.size());
    memories_.push_back(std::move(memory));
    return range;
}

kernels::Activations DeviceCase::upload_rows(const std::vector<float>& content, uint32_t rows,
                                             uint32_t columns) {
    const uint32_t stride = kernels::padded_columns(columns);
    std::vector<float> padded(std::size_t{rows} * stride, 0.0F);
    for (uint32_t row = 0; row < rows; ++row) {
        std::copy_n(content.begin() + std::size_t{row} * columns, columns,
                    padded.begin() + std::size_t{row} * stride);
    }
    return {.range = upload(padded), .columns = columns, .stride = stride};
}

void DeviceCase::run(const std::function<void(kernels::Library&, vk::Recorder&)>& record) {
    vk::Device& device = library_->device();
    vk::Recorder recorder = must(vk::Recorder::create(device));
    record(*library_, recorder);
    const uint64_t value = must(device.submit(must(recorder.finish())));
    must(device.wait(value));
}

std::vector<std::byte> DeviceCase::download_bytes(vk::Range range) {
    const auto memory = std::find_if(memories_.begin(), memories_.end(), [&](const Memory& one) {
        return one.buffer.range().address == range.address;
    });
    REQUIRE(memory != memories_.end());
    const uint64_t bytes = memory->bytes + guard_bytes;
    vk::Buffer staging =
        must(vk::Buffer::create(library_->device(), vk::MemoryDomain::readback, bytes, "test download"));
    run([&](kernels::Library&, vk::Recorder& recorder) {
        recorder.copy(memory->buffer, 0, staging, 0, bytes);
    });
    const MutableByteView mapped = staging.mapped();
    REQUIRE(std::all_of(mapped.begin() + static_cast<std::ptrdiff_t>(memory->bytes), mapped.end(),
                        [](std::byte byte) { return byte == guard; }));
    return {mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(range.bytes)};
}

std::vector<float> DeviceCase::download_rows(const kernels::Activations& activations) {
    const std::vector<float> padded = download<float>(activations.range);
    const std::size_t rows = padded.size() / activations.stride;
    std::vector<float> content;
    bool padding_is_zero = true;
    for (std::size_t row = 0; row < rows; ++row) {
        for (uint32_t column = 0; column < activations.stride; ++column) {
            const float value = padded[row * activations.stride + column];
            if (column < activations.columns) {
                content.push_back(value);
            } else {
                padding_is_zero = padding_is_zero && value == 0;
            }
        }
    }
    REQUIRE(padding_is_zero);
    return content;
}

std::vector<kernels::PlanFamily> all_families() {
    if (runs_once())
        return {kernels::natural_family(gpu().device.profile())};
    return {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel,
            kernels::PlanFamily::lavapipe};
}

std::size_t shape_number(std::size_t family, std::size_t format) {
    return format + (runs_whole_products() ? family * kernels::format_count : 0);
}

std::vector<float> random_floats(std::mt19937& random, std::size_t count) {
    std::vector<float> numbers(count);
    for (float& number : numbers)
        number = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31F;
    return numbers;
}

} // namespace etna::test
