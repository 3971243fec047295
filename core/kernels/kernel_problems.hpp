#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/operations/attention.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// Operations at the shapes of real models, in device memory, to be timed (kernel_rate.hpp).
namespace etna::kernels {

/// The memory of one problem. The first error sticks in the recorder. Belongs to one thread.
class ProblemMemory {
public:
    /// `library` is borrowed. Errors: out_of_memory, device_lost.
    static Result<ProblemMemory> create(Library& library);

    /// Allocates device memory that holds a normal number in every format; an empty range on failure.
    vk::Range take(uint64_t bytes);
    /// Allocates memory with this content; an empty range on failure.
    vk::Range put(ByteView content);
    Activations rows(uint32_t count, uint32_t columns);

    /// Returns how many copies of data of this size exceed the caches of the device together: repetitions
    /// that take turns on them read device memory.
    [[nodiscard]] uint32_t copies(uint64_t bytes) const;

    /// Records work that precedes the problem.
    [[nodiscard]] vk::Recorder& recorder() { return recorder_; }
    [[nodiscard]] Library& library() { return *library_; }

    /// Runs the recorded work. Blocks. Errors: the first one.
    Status finish();

private:
    ProblemMemory(Library& library, vk::Recorder recorder)
        : library_(&library), recorder_(std::move(recorder)) {}

    Library* library_;
    vk::Recorder recorder_;
    std::vector<vk::Buffer> buffers_;
};

uint64_t float_bytes(uint64_t count);
/// Rows of a prompt in one step: as many as an engine takes on the device.
uint32_t prompt_rows(const PlanTarget& target);

/// Records one repetition of a problem; repetitions are numbered from 0.
using RecordRepetition = std::function<void(vk::Recorder& recorder, uint32_t repetition)>;

/// One operation of one shape.
struct KernelProblem {
    std::string name;        ///< "linear q4_k 14336 x 4096, 1 decode row"
    uint64_t bytes = 0;      ///< that it must read and write, each counted once
    uint64_t operations = 0; ///< additions and multiplications of its sums; 0: not counted
    std::function<RecordRepetition(ProblemMemory& memory)> prepare; ///< allocates what the repetitions use
};

/// Prefill or decode rows times a matrix.
KernelProblem linear_problem(Layout layout, uint32_t rows, uint32_t columns, RowPath path, uint32_t count);

/// A block's fused matrices in tiles: gate and up with their activation (`gated`), or a matrix that adds to
/// the residual and prepares the next norm.
KernelProblem fused_problem(Format format, uint32_t rows, uint32_t columns, bool gated, uint32_t count);

/// Rows that attend to `tokens` keys, or the last rows of a prompt of `tokens` tokens. `target`: that of the
/// library which runs the problem.
KernelProblem attention_problem(const PlanTarget& target, const AttentionShape& shape, uint32_t tokens,
                                RowPath path, uint32_t count);

/// The linear layers of an 8B model in each weight format, a mixture's experts, attention, and the smaller
/// kernels of a generation step. Weights are in the arrangement that the target prefers. Pure.
std::vector<KernelProblem> kernel_problems(const PlanTarget& target);

} // namespace etna::kernels
