#include "core/kernels/self_check.hpp"

#include "core/kernels/kernel_choices.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

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

/// One use of each variant without a verdict.
Result<std::vector<KernelUse>> unknown_uses(const PlanTarget& target, const NeededKernels& needed,
                                            const SelfCheckVerdict& verdict) {
    ETNA_TRY(const std::vector<KernelUse> all, needed_uses(target, needed));
    VariantSet seen = verdict.right;
    seen.add(verdict.wrong);
    std::vector<KernelUse> uses;
    for (const KernelUse& use : all) {
        if (!seen.contains(use.variant))
            uses.push_back(use);
        seen.add(use.variant);
    }
    return uses;
}

/// Drivers compile on the calling thread; more than a few threads do not pay off for problems this small.
constexpr uint32_t threads_max = 8;

/// The problems of kernels, made on several threads, because kernels compile then, and handed out in order.
class ProblemQueue {
public:
    /// Borrows both. After `deadline` only the first is made.
    ProblemQueue(Library& library, const std::vector<KernelUse>& uses, Clock::time_point deadline)
        : library_(library), uses_(uses), deadline_(deadline), made_(uses.size()) {
        const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
        const auto count = std::min({cores, threads_max, static_cast<uint32_t>(uses.size())});
        for (uint32_t i = 0; i < count; ++i)
            threads_.emplace_back([this] { make_all(); });
    }

    /// Waits for the recorded problem of a use; empty if the deadline had passed. Call once per use.
    Result<std::optional<KernelRun>> take(std::size_t index) { return made_[index].get_future().get(); }

private:
    void make_all() {
        for (std::size_t i = next_++; i < uses_.size(); i = next_++) {
            try {
                made_[i].set_value(make(i));
            } catch (...) { // out of memory: rethrown to the consumer
                made_[i].set_exception(std::current_exception());
            }
        }
    }

    Result<std::optional<KernelRun>> make(std::size_t i) {
        if (i > 0 && Clock::now() >= deadline_)
            return std::optional<KernelRun>();
        ETNA_TRY(KernelRun run, KernelRun::create(library_));
        uses_[i].operation->make_problem(run, uses_[i]);
        return std::optional(std::move(run));
    }

    Library& library_;
    const std::vector<KernelUse>& uses_;
    Clock::time_point deadline_;
    std::vector<std::promise<Result<std::optional<KernelRun>>>> made_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::jthread> threads_; // destroyed first: they use the other members
};

/// Adds each kernel's result to the verdict. A kernel that the driver rejects counts as wrong.
Status check(Library& library, const std::vector<KernelUse>& uses, Clock::time_point deadline,
             const std::function<void(std::size_t, std::size_t)>& progress, SelfCheckVerdict& verdict) {
    ProblemQueue queue(library, uses, deadline);
    for (std::size_t i = 0; i < uses.size(); ++i) {
        if (progress)
            progress(i, uses.size());
        // One at a time, because some drivers compile a kernel when it first runs.
        ETNA_TRY(std::optional<KernelRun> run, queue.take(i));
        if (!run || (i > 0 && Clock::now() >= deadline))
            continue;
        const Status started = run->start();
        if (!started && started.error().kind != ErrorKind::unsupported)
            return started.error().while_doing("while checking the device's kernels");
        bool right = false;
        if (started) {
            ETNA_TRY(right, run->is_right());
        }
        (right ? verdict.right : verdict.wrong).add(uses[i].variant);
    }
    return {};
}

} // namespace

Result<std::size_t> kernels_left(const PlanTarget& target, const NeededKernels& needed,
                                 const SelfCheckVerdict& verdict) {
    ETNA_TRY(const std::vector<KernelUse> uses, unknown_uses(target, needed, verdict));
    return uses.size();
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
        ETNA_TRY(const std::vector<KernelUse> uses, unknown_uses(library.target(), options.needed, verdict));
        const bool has_begun = verdict != options.known;
        if (uses.empty() || (has_begun && Clock::now() >= deadline))
            return verdict;
        ETNA_CHECK(check(library, uses, deadline, options.progress, verdict));
    }
}

} // namespace etna::kernels
