#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace etna::kernels {

/// The sizes that a device runs a shape's kernel with fastest.
struct TunedChoice {
    TunedShape shape;
    WorkgroupSizes sizes;  ///< the policy's if no others are clearly faster
    WorkgroupSizes policy; ///< the policy's own
    double time_us = 0;    ///< of one decode row and of four, or of a prompt's attention, with `sizes`
    double policy_us = 0;  ///< the same with `policy`; 0: its results were wrong
    uint32_t candidates = 0;
    uint32_t wrong = 0; ///< candidates whose results were wrong, or that the driver rejected
};

/// Returns whether a library whose tuning holds the sizes computes a problem of the shape right. `library`:
/// options without a tuning.
using CandidateCheck = std::function<Result<bool>(vk::Device& device, const LibraryOptions& library,
                                                  const TunedShape& shape, const WorkgroupSizes& sizes)>;
/// Returns the microseconds of the shape with these sizes.
using CandidateTimer = std::function<Result<double>(vk::Device& device, const LibraryOptions& library,
                                                    const TunedShape& shape, const WorkgroupSizes& sizes)>;

/// Compares with the reference of the self-check, over the shape's columns or heads and a few of its rows.
/// Blocks. Errors: out_of_memory, device_lost.
Result<bool> check_candidate(vk::Device& device, const LibraryOptions& library, const TunedShape& shape,
                             const WorkgroupSizes& sizes);
/// Blocks; other work on the device makes it slower. Errors: those of measure_kernel().
Result<double> time_candidate(vk::Device& device, const LibraryOptions& library, const TunedShape& shape,
                              const WorkgroupSizes& sizes);

struct TuneOptions {
    LibraryOptions library = {};            ///< without a tuning
    CancelPoll is_cancelled = {};           ///< polled between candidates; may be empty
    CandidateCheck check = check_candidate; ///< tests substitute both
    CandidateTimer time = time_candidate;
};

/// Checks and then times each of tuning_candidates(), and returns the fastest right one. Another than the
/// policy's must be clearly faster, twice. Empty if there are no candidates, if none is right, or if
/// cancelled. Blocks. Errors: those of `check` and `time`.
Result<std::optional<TunedChoice>> tune(vk::Device& device, const TunedShape& shape,
                                        const TuneOptions& options);

} // namespace etna::kernels
