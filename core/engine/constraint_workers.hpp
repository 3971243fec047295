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

/// What a constraint has to find out, on another thread than the engine's. Until is_done() the constraint is
/// left alone by everybody else.
class ConstraintJob {
public:
    using Clock = std::chrono::steady_clock;

    ConstraintJob(std::shared_ptr<Constraint> constraint, Constraint::Part part)
        : constraint_(std::move(constraint)), part_(part) {}

    [[nodiscard]] bool is_done() const { return is_done_.load(std::memory_order_acquire); }
    [[nodiscard]] Constraint::Part part() const { return part_; }
    /// What kept it from being done: out_of_memory. Precondition: is_done().
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    /// Nobody waits for it any more; thread-safe.
    void cancel() { is_unwanted_ = true; }

private:
    friend class ConstraintWorkers;
    bool run();

    const std::shared_ptr<Constraint> constraint_;
    const Constraint::Part part_;
    Clock::duration piece_ = first_piece; ///< doubled with each that is not enough
    std::optional<Error> error_;
    std::atomic<bool> is_unwanted_{false};
    std::atomic<bool> is_done_{false};

    static constexpr std::chrono::milliseconds first_piece{5};
};

/// Does the work of constraints: what is short at once, on the engine's thread, and whatever is not on a few
/// threads of its own, in turns: who is not done after its piece goes behind the others, and gets twice as
/// much then. So one constraint that takes long holds up neither the engine nor for long another constraint.
///
/// All calls come from one thread. The others wait from the beginning: where the system has none to give,
/// that is found out before anybody relies on them.
class ConstraintWorkers {
public:
    using Clock = ConstraintJob::Clock;

    /// `on_done`: called from any thread when a job is done. Throws std::system_error where there are no
    /// threads.
    explicit ConstraintWorkers(std::function<void()> on_done);
    ConstraintWorkers(const ConstraintWorkers&) = delete;
    ConstraintWorkers& operator=(const ConstraintWorkers&) = delete;
    /// Cancels what is left, and waits for the pieces that are worked on.
    ~ConstraintWorkers();

    /// A step of the engine begins: its thread may work on constraints for step_time again.
    void begin_step() { step_time_left_ = step_time; }
    [[nodiscard]] bool has_time() const { return step_time_left_ > Clock::duration::zero(); }
    /// Works on it at once, for piece_time at most. False: it takes longer. Precondition: has_time(). This
    /// and the next throw bad_alloc, and are over then.
    bool prepare_now(Constraint& constraint, Constraint::Part part);
    /// Leaves it to the other threads.
    std::shared_ptr<ConstraintJob> begin(std::shared_ptr<Constraint> constraint, Constraint::Part part);
    /// Takes one that is not needed any more: giving its memory back may take long.
    void dispose(std::shared_ptr<Constraint> constraint);

    static constexpr std::size_t threads_max = 2;
    /// Of the engine's thread: for all constraints of a step, and for one of them.
    static constexpr std::chrono::microseconds step_time{4'000};
    static constexpr std::chrono::microseconds piece_time{1'000};

private:
    using Jobs = std::list<std::shared_ptr<ConstraintJob>>; ///< they move between lists without memory

    void stop();
    void work();
    void work_on_first(std::unique_lock<std::mutex>& lock);

    const std::function<void()> on_done_;
    Clock::duration step_time_left_ = step_time;
    std::mutex mutex_; ///< of all below
    std::condition_variable changed_;
    Jobs queue_;
    Jobs running_;
    std::vector<std::shared_ptr<Constraint>> disposed_;
    bool is_stopping_ = false;
    std::vector<std::jthread> threads_; ///< last: they use the rest
};

} // namespace etna::engine
