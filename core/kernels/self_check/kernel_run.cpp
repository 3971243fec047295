#include "core/kernels/self_check/kernel_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace etna::kernels {
namespace {

template <class T>
T element_at(ByteView content, std::size_t index) {
    T element;
    std::memcpy(&element, content.data() + index * sizeof(T), sizeof(T));
    return element;
}

bool within(float result, const Bounded& expected) {
    return std::abs(result - expected.value) <= expected.tolerance; // NaN is not
}

} // namespace

Result<KernelRun> KernelRun::create(Library& library) {
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(library.device()));
    return KernelRun(library, std::move(recorder));
}

vk::Range KernelRun::put_bytes(ByteView content) {
    if (content.empty())
        return {};
    const uint64_t bytes = round_up(content.size(), 16);
    auto buffer = vk::Buffer::create(library_->device(), vk::MemoryDomain::readback, bytes, "self-check");
    if (!buffer) {
        fail(std::move(buffer).error());
        return {};
    }
    const MutableByteView mapped = buffer->mapped();
    std::copy(content.begin(), content.end(), mapped.begin());
    std::fill(mapped.begin() + static_cast<std::ptrdiff_t>(content.size()), mapped.end(), std::byte{0});
    buffers_.push_back(std::move(*buffer));
    return buffers_.back().range(0, content.size());
}

Activations KernelRun::put_rows(const std::vector<float>& content, uint32_t rows, uint32_t columns) {
    const uint32_t stride = padded_columns(columns);
    std::vector<float> padded(std::size_t{rows} * stride, 0.0F);
    for (uint32_t row = 0; row < rows; ++row) {
        std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * columns), columns,
                    padded.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * stride));
    }
    return {.range = put(padded), .columns = columns, .stride = stride};
}

Activations KernelRun::put_unset(uint32_t rows, uint32_t columns) {
    return put_rows(std::vector<float>(std::size_t{rows} * columns, unset), rows, columns);
}

void KernelRun::expect(vk::Range range, std::function<bool(ByteView)> holds) {
    expectations_.push_back({range, std::move(holds)});
}

void KernelRun::expect_numbers(vk::Range range, std::vector<Bounded> expected) {
    expect(range, [expected = std::move(expected)](ByteView content) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (!within(element_at<float>(content, i), expected[i]))
                return false;
        }
        return true;
    });
}

void KernelRun::expect_rows(const Activations& results, uint32_t first,
                            const std::vector<Bounded>& expected) {
    const uint32_t columns = results.columns;
    const auto rows = static_cast<uint32_t>(expected.size() / columns);
    for (uint32_t row = 0; row < rows; ++row) {
        const auto from = expected.begin() + static_cast<std::ptrdiff_t>(std::size_t{row} * columns);
        expect_numbers(results.rows(first + row, 1).part(0, uint64_t{columns} * 4), {from, from + columns});
    }
}

void KernelRun::expect_words(vk::Range range, std::vector<uint32_t> expected) {
    expect(range, [expected = std::move(expected)](ByteView content) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (element_at<uint32_t>(content, i) != expected[i])
                return false;
        }
        return true;
    });
}

Status KernelRun::start() {
    ETNA_TRY(vk::CommandBuffer commands, recorder_.finish());
    ETNA_TRY(done_at_, library_->device().submit(std::move(commands)));
    return {};
}

ByteView KernelRun::content(vk::Range range) const {
    for (const vk::Buffer& buffer : buffers_) {
        const vk::Range all = buffer.range();
        if (range.address >= all.address && range.address + range.bytes <= all.address + all.bytes)
            return buffer.mapped().subspan(range.address - all.address, range.bytes);
    }
    return {};
}

Result<bool> KernelRun::is_right() {
    ETNA_CHECK(library_->device().wait(done_at_));
    return std::all_of(expectations_.begin(), expectations_.end(),
                       [&](const Expectation& one) { return one.holds(content(one.range)); });
}

} // namespace etna::kernels
