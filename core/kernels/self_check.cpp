#include "core/kernels/self_check.hpp"

#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace etna::kernels {
namespace {

Pose& pose_of(Operation operation) {
    switch (operation) {
    case Operation::embed:
        return pose_embed;
    case Operation::rms_norm:
        return pose_rms_norm;
    case Operation::linear:
        return pose_linear;
    case Operation::rotary_store:
        return pose_rotary_store;
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
    case Operation::expert_group:
        return pose_expert_group;
    case Operation::expert_linear:
        return pose_expert_linear;
    case Operation::expert_sum:
        return pose_expert_sum;
    case Operation::sample_partial:
        return pose_sample_partial;
    case Operation::sample_finish:
        break;
    }
    return pose_sample_finish;
}

/// Uses of variants that nothing is known of, one each.
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

/// Drivers compile on the threads that ask them to; more than a few do not pay for problems this small.
constexpr uint32_t threads_max = 8;

/// Poses problems on several threads, since that is when kernels compile; hands them out in order meanwhile.
class Posing {
public:
    /// Borrows both.
    Posing(Library& library, const std::vector<KernelUse>& uses)
        : library_(library), uses_(uses), posed_(uses.size()) {
        const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
        const auto count = std::min({cores, threads_max, static_cast<uint32_t>(uses.size())});
        for (uint32_t i = 0; i < count; ++i)
            threads_.emplace_back([this] { pose_all(); });
    }

    /// Waits for the trial of a use; once each.
    Result<Trial> take(std::size_t index) { return posed_[index].get_future().get(); }

private:
    void pose_all() {
        for (std::size_t i = next_++; i < uses_.size(); i = next_++) {
            try {
                Result<Trial> trial = Trial::create(library_);
                if (trial)
                    pose_of(uses_[i].operation)(*trial, uses_[i]);
                posed_[i].set_value(std::move(trial));
            } catch (...) { // lack of memory: for whoever takes it
                posed_[i].set_exception(std::current_exception());
            }
        }
    }

    Library& library_;
    const std::vector<KernelUse>& uses_;
    std::vector<std::promise<Result<Trial>>> posed_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::jthread> threads_; // first to go: they use the rest
};

/// Adds to the verdict whether each kernel computes rightly. A driver that refuses one is as good as one that
/// computes wrongly.
Status check(Library& library, const std::vector<KernelUse>& uses, SelfCheckVerdict& verdict) {
    Posing posing(library, uses);
    std::vector<std::optional<Trial>> trials;
    for (std::size_t i = 0; i < uses.size(); ++i) {
        ETNA_TRY(Trial trial, posing.take(i));
        const Status started = trial.start();
        if (!started && started.error().kind != ErrorKind::unsupported)
            return started.error().while_doing("while checking the device's kernels");
        trials.push_back(started ? std::optional(std::move(trial)) : std::nullopt);
    }
    for (std::size_t i = 0; i < uses.size(); ++i) {
        bool right = false;
        if (trials[i]) {
            ETNA_TRY(right, trials[i]->is_right());
        }
        (right ? verdict.right : verdict.wrong).add(uses[i].variant);
    }
    return {};
}

} // namespace

Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options) {
    SelfCheckVerdict verdict = options.known;
    while (true) { // each round adds variants to the verdict, of which there are so many
        Library library(device, {.family = options.family, .untrusted = verdict.wrong, .code = options.code});
        const std::vector<KernelUse> uses = unknown_uses(library.target(), options.scope, verdict);
        if (uses.empty())
            return verdict;
        ETNA_CHECK(check(library, uses, verdict));
    }
}

} // namespace etna::kernels
