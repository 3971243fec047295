#include "core/kernels/tune.hpp"

#include "core/kernels/kernel_rate.hpp"
#include "core/kernels/operations/attention.hpp"
#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace etna::kernels {
namespace {

/// A winner takes at most this share of the policy's time, because smaller differences are noise.
constexpr double gain_share = 0.97;

bool is_attention(const TunedShape& shape) {
    return shape.kernel == TunedKernel::attention || shape.kernel == TunedKernel::attention_decode;
}

/// The shape with fewer weight rows, which need the same pipeline: each row is computed alone.
TunedShape checked_shape(TunedShape shape) {
    constexpr uint32_t few_rows = 67;
    if (shape.kernel == TunedKernel::linear)
        shape.rows = std::min(shape.rows, few_rows);
    else if (!is_attention(shape))
        shape.rows = std::min(shape.rows, tile_columns);
    return shape;
}

LibraryOptions with(LibraryOptions library, const TunedShape& shape, const WorkgroupSizes& sizes) {
    library.tuning = {};
    library.tuning.set(shape, sizes);
    return library;
}

const Operation& operation_of(const TunedShape& shape) {
    if (is_attention(shape))
        return attention_operation;
    return shape.kernel == TunedKernel::linear ? linear_operation : fused_linear_operation;
}

/// The problems whose times are added up.
std::vector<KernelProblem> timed_problems(const PlanTarget& target, const TunedShape& shape) {
    const AttentionShape heads{.q_heads = shape.rows, .kv_heads = shape.kv_heads, .head_dim = shape.columns};
    const Format format = shape.layout.format;
    const bool is_gated = shape.kernel == TunedKernel::gated_linear;
    switch (shape.kernel) {
    case TunedKernel::attention: {
        const uint32_t rows = prompt_rows(target);
        return {target.profile.type == vk::DeviceType::cpu
                    ? attention_problem(target, heads, 128, RowPath::prefill, rows / 8) // slow there
                    : attention_problem(target, heads, 512, RowPath::prefill, rows)};
    }
    case TunedKernel::attention_decode:
        return {attention_problem(target, heads, 4096, RowPath::decode, 1)};
    case TunedKernel::linear:
        return {linear_problem(shape.layout, shape.rows, shape.columns, RowPath::decode, 1),
                linear_problem(shape.layout, shape.rows, shape.columns, RowPath::decode, 4)};
    case TunedKernel::fused_linear:
    case TunedKernel::gated_linear:
        break;
    }
    return {fused_problem(format, shape.rows, shape.columns, is_gated, 1),
            fused_problem(format, shape.rows, shape.columns, is_gated, 4)};
}

bool is_cancelled(const TuneOptions& options) {
    return options.is_cancelled && options.is_cancelled();
}

/// Sizes whose results are right, and their time.
struct Timed {
    WorkgroupSizes sizes;
    double time_us = 0;
};

/// Times the winner and the policy's sizes again, and returns the policy's unless the winner's lead stays.
Result<Timed> confirmed(vk::Device& device, const TunedShape& shape, const TuneOptions& options,
                        const Timed& winner, Timed& policy) {
    if (winner.sizes == policy.sizes)
        return policy;
    ETNA_TRY(const double policy_us, options.time(device, options.library, shape, policy.sizes));
    ETNA_TRY(const double winner_us, options.time(device, options.library, shape, winner.sizes));
    policy.time_us = std::min(policy.time_us, policy_us);
    const double slower_us = std::max(winner.time_us, winner_us);
    return slower_us <= gain_share * policy.time_us ? winner : policy;
}

} // namespace

Result<bool> check_candidate(vk::Device& device, const LibraryOptions& library, const TunedShape& shape,
                             const WorkgroupSizes& sizes) {
    const TunedShape checked = checked_shape(shape);
    Library one(device, with(library, checked, sizes));
    ETNA_TRY(KernelRun run, KernelRun::create(one));
    operation_of(checked).make_tuned_problem(run, checked);
    const Status started = run.start();
    if (!started && started.error().kind == ErrorKind::unsupported)
        return false;
    ETNA_CHECK(started);
    return run.is_right();
}

Result<double> time_candidate(vk::Device& device, const LibraryOptions& library, const TunedShape& shape,
                              const WorkgroupSizes& sizes) {
    Library one(device, with(library, shape, sizes));
    double sum_us = 0;
    for (const KernelProblem& problem : timed_problems(one.target(), shape)) {
        ETNA_TRY(const std::vector<double> samples_us, measure_kernel(one, problem));
        sum_us += *std::min_element(samples_us.begin(), samples_us.end());
    }
    return sum_us;
}

Result<std::optional<TunedChoice>> tune(vk::Device& device, const TunedShape& shape,
                                        const TuneOptions& options) {
    const PlanTarget target = Library(device, with(options.library, {}, {})).target();
    const std::vector<WorkgroupSizes> candidates = tuning_candidates(target, shape);
    if (candidates.empty())
        return std::optional<TunedChoice>();
    TunedChoice choice{.shape = shape,
                       .sizes = {},
                       .policy = candidates.front(),
                       .candidates = static_cast<uint32_t>(candidates.size())};
    std::optional<Timed> policy;
    std::optional<Timed> best;
    for (const WorkgroupSizes& sizes : candidates) {
        if (is_cancelled(options))
            return std::optional<TunedChoice>();
        ETNA_TRY(const bool is_right, options.check(device, options.library, shape, sizes));
        if (!is_right) {
            ++choice.wrong;
            continue;
        }
        ETNA_TRY(const double time_us, options.time(device, options.library, shape, sizes));
        if (sizes == choice.policy)
            policy = Timed{sizes, time_us};
        if (!best || time_us < best->time_us)
            best = Timed{sizes, time_us};
    }
    if (!best)
        return std::optional<TunedChoice>();
    if (policy) {
        ETNA_TRY(best, confirmed(device, shape, options, *best, *policy));
        choice.policy_us = policy->time_us;
    }
    choice.sizes = best->sizes;
    choice.time_us = best->time_us;
    return std::optional(choice);
}

} // namespace etna::kernels
