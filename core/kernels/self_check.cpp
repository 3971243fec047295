#include "core/kernels/self_check.hpp"

#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace etna::kernels {
namespace {

using Clock = std::chrono::steady_clock;

Pose& pose_of(Operation operation) {
    switch (operation) {
    case Operation::embed:
        return pose_embed;
    case Operation::rms_norm:
        return pose_rms_norm;
    case Operation::linear:
        return pose_linear;
    case Operation::fused_linear:
        return pose_fused_linear;
    case Operation::heads_linear:
        return pose_heads_linear;
    case Operation::halve:
        return pose_halve;
    case Operation::rotary_store:
        return pose_rotary_store;
    case Operation::latent_store:
        return pose_latent_store;
    case Operation::attention:
        return pose_attention;
    case Operation::attention_merge:
        return pose_attention_merge;
    case Operation::gate_multiply:
        return pose_gate_multiply;
    case Operation::soft_cap:
        return pose_soft_cap;
    case Operation::expert_route:
        return pose_expert_route;
    case Operation::expert_router:
        return pose_expert_router;
    case Operation::expert_group:
        return pose_expert_group;
    case Operation::expert_linear:
        return pose_expert_linear;
    case Operation::expert_gate_up:
        return pose_expert_gate_up;
    case Operation::expert_down:
        return pose_expert_down;
    case Operation::expert_sum:
        return pose_expert_sum;
    case Operation::heads_product:
        return pose_heads_product;
    case Operation::short_convolution:
        return pose_short_convolution;
    case Operation::delta_net:
        return pose_delta_net;
    case Operation::mamba2:
        return pose_mamba2;
    case Operation::gated_rms_norm:
        return pose_gated_rms_norm;
    case Operation::altup:
        return pose_altup;
    case Operation::match_rms:
        return pose_match_rms;
    case Operation::statistical_top_k:
        return pose_statistical_top_k;
    case Operation::suppress:
        return pose_suppress;
    case Operation::sample_partial:
        return pose_sample_partial;
    case Operation::sample_finish:
        break;
    }
    return pose_sample_finish;
}

/// One use of each variant without a verdict.
std::vector<KernelUse> unknown_uses(const PlanTarget& target, const KernelScope& scope,
                                    const SelfCheckVerdict& verdict) {
    VariantSet seen = verdict.right;
    seen.add(verdict.wrong);
    std::vector<KernelUse> uses;
    for (const KernelUse& use : kernel_uses(target, scope)) {
        if (!seen.contains(use.variant))
            uses.push_back(use);
        seen.add(use.variant);
    }
    return uses;
}

/// Drivers compile on the calling thread; more than a few threads do not pay off for problems this small.
constexpr uint32_t threads_max = 8;

/// Poses problems on several threads, because kernels compile then, and hands them out in order.
class Posing {
public:
    /// Borrows both. After `deadline` only the first is posed.
    Posing(Library& library, const std::vector<KernelUse>& uses, Clock::time_point deadline)
        : library_(library), uses_(uses), deadline_(deadline), posed_(uses.size()) {
        const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
        const auto count = std::min({cores, threads_max, static_cast<uint32_t>(uses.size())});
        for (uint32_t i = 0; i < count; ++i)
            threads_.emplace_back([this] { pose_all(); });
    }

    /// Waits for the trial of a use; empty if the deadline had passed. Call once per use.
    Result<std::optional<Trial>> take(std::size_t index) { return posed_[index].get_future().get(); }

private:
    void pose_all() {
        for (std::size_t i = next_++; i < uses_.size(); i = next_++) {
            try {
                posed_[i].set_value(pose(i));
            } catch (...) { // out of memory: rethrown to the consumer
                posed_[i].set_exception(std::current_exception());
            }
        }
    }

    Result<std::optional<Trial>> pose(std::size_t i) {
        if (i > 0 && Clock::now() >= deadline_)
            return std::optional<Trial>();
        ETNA_TRY(Trial trial, Trial::create(library_));
        pose_of(uses_[i].operation)(trial, uses_[i]);
        return std::optional(std::move(trial));
    }

    Library& library_;
    const std::vector<KernelUse>& uses_;
    Clock::time_point deadline_;
    std::vector<std::promise<Result<std::optional<Trial>>>> posed_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::jthread> threads_; // destroyed first: they use the other members
};

/// Adds each kernel's result to the verdict. A kernel that the driver rejects counts as wrong.
Status check(Library& library, const std::vector<KernelUse>& uses, Clock::time_point deadline,
             const std::function<void(std::size_t, std::size_t)>& progress, SelfCheckVerdict& verdict) {
    Posing posing(library, uses, deadline);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        if (progress)
            progress(i, uses.size());
        // One at a time, because some drivers compile a kernel when it first runs.
        ETNA_TRY(std::optional<Trial> trial, posing.take(i));
        if (!trial || (i > 0 && Clock::now() >= deadline))
            continue;
        const Status started = trial->start();
        if (!started && started.error().kind != ErrorKind::unsupported)
            return started.error().while_doing("while checking the device's kernels");
        bool right = false;
        if (started) {
            ETNA_TRY(right, trial->is_right());
        }
        (right ? verdict.right : verdict.wrong).add(uses[i].variant);
    }
    return {};
}

} // namespace

std::size_t kernels_left(const PlanTarget& target, const KernelScope& scope,
                         const SelfCheckVerdict& verdict) {
    return unknown_uses(target, scope, verdict).size();
}

Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options) {
    SelfCheckVerdict verdict = options.known;
    const auto now = Clock::now();
    const auto deadline = options.time_limit < Clock::time_point::max() - now ? now + options.time_limit
                                                                              : Clock::time_point::max();
    while (true) { // terminates: each round adds variants to the verdict, and their number is finite
        Library library(device, {.family = options.family,
                                 .untrusted = verdict.wrong,
                                 .precision = options.precision,
                                 .code = options.code});
        const std::vector<KernelUse> uses = unknown_uses(library.target(), options.scope, verdict);
        const bool has_begun = verdict != options.known;
        if (uses.empty() || (has_begun && Clock::now() >= deadline))
            return verdict;
        ETNA_CHECK(check(library, uses, deadline, options.progress, verdict));
    }
}

} // namespace etna::kernels
