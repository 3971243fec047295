#pragma once

#include "core/base/error.hpp"
#include "core/engine/constraint.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace etna::engine {

/// Constraint work that runs on a worker. Until is_done() no other thread may use the constraint.
class ConstraintJob {
public:
    using Clock = std::chrono::steady_clock;

    ConstraintJob(std::shared_ptr<Constraint> constraint, Constraint::Part part)
        : constraint_(std::move(constraint)), part_(part) {}

    [[nodiscard]] bool is_done() const { return is_done_.load(std::memory_order_acquire); }
    [[nodiscard]] Constraint::Part part() const { return part_; }
    /// The error that ended the work: out_of_memory; empty: none. Precondition: is_done().
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    /// Marks the result as not needed; thread-safe.
    void cancel() { is_cancelled_ = true; }

private:
    friend class ConstraintWorkers;
    bool run();

    const std::shared_ptr<Constraint> constraint_;
    const Constraint::Part part_;
    Clock::duration slice_ = first_slice; ///< time slice; doubled each time the work exceeds it
    std::optional<Error> error_;
    std::atomic<bool> is_cancelled_{false};
    std::atomic<bool> is_done_{false};

    static constexpr std::chrono::milliseconds first_slice{5};
};

/// Runs constraint work: short jobs inline on the engine thread, long ones round-robin on a few workers. A
/// job that outlives its time slice is requeued with a slice twice as long. A slow constraint therefore
/// blocks neither the engine nor, for long, another constraint.
///
/// All calls come from one thread. The workers start in the constructor, so that a system without free
/// threads is detected before any request relies on them.
class ConstraintWorkers {
public:
    using Clock = ConstraintJob::Clock;

    /// `on_done`: called from any thread when a job is done. Throws std::system_error if no thread can be
    /// started.
    explicit ConstraintWorkers(std::function<void()> on_done);
    ConstraintWorkers(const ConstraintWorkers&) = delete;
    ConstraintWorkers& operator=(const ConstraintWorkers&) = delete;
    /// Cancels the remaining jobs, and waits for the time slices that are running.
    ~ConstraintWorkers();

    /// Starts an engine step, with step_time for constraints on the engine's thread.
    void begin_step() { step_time_left_ = step_time; }
    [[nodiscard]] bool has_time() const { return step_time_left_ > Clock::duration::zero(); }
    /// Runs the work inline, for inline_slice at most. Returns false if it takes longer. Precondition:
    /// has_time(). This function and begin() throw bad_alloc, and have no further effect then.
    bool prepare_now(Constraint& constraint, Constraint::Part part);
    /// Queues the work for the workers.
    std::shared_ptr<ConstraintJob> begin(std::shared_ptr<Constraint> constraint, Constraint::Part part);
    /// Destroys an unused constraint on a worker, because freeing its memory may take long.
    void dispose(std::shared_ptr<Constraint> constraint);

    static constexpr std::size_t threads_max = 2;
    /// Time on the engine's thread: for all constraints of a step, and for each of them.
    static constexpr std::chrono::microseconds step_time{4'000};
    static constexpr std::chrono::microseconds inline_slice{1'000};

private:
    using Jobs = std::list<std::shared_ptr<ConstraintJob>>; ///< spliced between lists without allocation

    void stop();
    void work();
    void work_on_first(std::unique_lock<std::mutex>& lock);

    const std::function<void()> on_done_;
    Clock::duration step_time_left_ = step_time;
    std::mutex mutex_; ///< guards the members below
    std::condition_variable changed_;
    Jobs queue_;
    Jobs running_;
    std::vector<std::shared_ptr<Constraint>> disposed_;
    bool is_stopping_ = false;
    std::vector<std::jthread> threads_; ///< last, because they use the members above
};

} // namespace etna::engine
