#include "core/kernels/self_check.hpp"

#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
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

/// Whether the kernel computes rightly. A driver that refuses it is as good as one that computes wrongly.
Result<bool> is_right(Library& library, const KernelUse& use) {
    ETNA_TRY(Trial trial, Trial::create(library));
    pose_of(use.operation)(trial, use);
    if (Status started = trial.start(); !started) {
        if (started.error().kind == ErrorKind::unsupported)
            return false;
        return std::move(started).error().while_doing("while checking the device's kernels");
    }
    return trial.is_right();
}

} // namespace

Result<SelfCheckVerdict> self_check(vk::Device& device, const SelfCheckOptions& options) {
    SelfCheckVerdict verdict = options.known;
    while (true) { // each round adds variants to the verdict, of which there are so many
        Library library(device,
                        {.family = options.family, .untrusted = verdict.wrong, .code = options.code});
        const std::vector<KernelUse> uses = unknown_uses(library.target(), options.scope, verdict);
        if (uses.empty())
            return verdict;
        for (const KernelUse& use : uses) {
            ETNA_TRY(const bool right, is_right(library, use));
            (right ? verdict.right : verdict.wrong).add(use.variant);
        }
    }
}

} // namespace etna::kernels
