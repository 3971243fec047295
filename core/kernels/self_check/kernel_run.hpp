#pragma once

#include "core/base/result.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace etna::kernels {

/// An expected number and its tolerance.
struct Bounded {
    double value = 0;
    double tolerance = 0;
};

/// Half an ulp of 1 in float: the largest relative error of one rounding.
constexpr double rounding = 0x1p-24;

/// Runs one kernel on problems with known answers: memory, recording and expected results. The first error
/// sticks until start() returns it. Belongs to one thread.
class KernelRun {
public:
    /// `library` is borrowed. Errors: out_of_memory, device_lost.
    static Result<KernelRun> create(Library& library);

    /// Fill value of put_unset().
    static constexpr float unset = -987654.25F;

    [[nodiscard]] Library& library() { return *library_; }
    [[nodiscard]] vk::Recorder& recorder() { return recorder_; }

    /// Allocates memory with this content, shared by host and device; an empty range on failure.
    vk::Range put_bytes(ByteView content);
    template <class T>
    vk::Range put(const std::vector<T>& content) {
        return put_bytes(std::as_bytes(std::span(content)));
    }
    /// `content` is [rows][columns]; zeros after the columns.
    Activations put_rows(const std::vector<float>& content, uint32_t rows, uint32_t columns);
    /// Allocates results that no kernel has written: filled with a number that no problem expects.
    Activations put_unset(uint32_t rows, uint32_t columns);

    /// Adds a predicate on the content of a range from put_*, checked when the device is done.
    void expect(vk::Range range, std::function<bool(ByteView content)> holds);
    /// Floats.
    void expect_numbers(vk::Range range, std::vector<Bounded> expected);
    /// `expected` is [rows][columns], from row `first` on.
    void expect_rows(const Activations& results, uint32_t first, const std::vector<Bounded>& expected);
    /// 32-bit words.
    void expect_words(vk::Range range, std::vector<uint32_t> expected);

    void fail(Error error) { recorder_.fail(std::move(error)); }

    /// Submits the recorded work. Errors: the one that stuck; unsupported if the driver rejected a kernel.
    Status start();
    /// Blocks until the device is done; returns whether all expectations hold. Errors: device_lost.
    Result<bool> is_right();

private:
    struct Expectation {
        vk::Range range;
        std::function<bool(ByteView)> holds;
    };

    KernelRun(Library& library, vk::Recorder recorder) : library_(&library), recorder_(std::move(recorder)) {}
    [[nodiscard]] ByteView content(vk::Range range) const;

    Library* library_;
    vk::Recorder recorder_;
    std::vector<vk::Buffer> buffers_;
    std::vector<Expectation> expectations_;
    uint64_t done_at_ = 0; ///< timeline value
};

} // namespace etna::kernels
