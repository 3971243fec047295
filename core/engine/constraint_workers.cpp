#include "core/engine/constraint_workers.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace etna::engine {

/// Runs for one time slice. Returns whether the job is over: done, failed, or cancelled.
bool ConstraintJob::run() {
    try {
        const Constraint::TimeSlice slice = {
            .until = Clock::now() + slice_, .is_cancelled = &is_cancelled_, .may_wait = true};
        if (!is_cancelled_ && !constraint_->prepare(part_, slice)) {
            slice_ *= 2;
            return false;
        }
    } catch (const std::bad_alloc&) {
        error_ = Error{ErrorKind::out_of_memory, "a grammar ran out of host memory"};
    }
    is_done_.store(true, std::memory_order_release);
    return true;
}

ConstraintWorkers::ConstraintWorkers(std::function<void()> on_done) : on_done_(std::move(on_done)) {
    threads_.reserve(threads_max);
    try {
        while (threads_.size() < threads_max)
            threads_.emplace_back([this] { work(); });
    } catch (...) {
        stop();
        throw;
    }
}

ConstraintWorkers::~ConstraintWorkers() {
    stop();
}

void ConstraintWorkers::stop() {
    {
        const std::scoped_lock lock(mutex_);
        is_stopping_ = true;
        for (const auto& job : running_)
            job->cancel();
    }
    changed_.notify_all();
    threads_.clear(); // joins them
}

bool ConstraintWorkers::prepare_now(Constraint& constraint, Constraint::Part part) {
    const Clock::time_point begin = Clock::now();
    const Clock::duration slice = std::min<Clock::duration>(step_time_left_, inline_slice);
    const bool is_done = constraint.prepare(part, {.until = begin + slice});
    step_time_left_ -= Clock::now() - begin;
    return is_done;
}

std::shared_ptr<ConstraintJob> ConstraintWorkers::begin(std::shared_ptr<Constraint> constraint,
                                                        Constraint::Part part) {
    auto job = std::make_shared<ConstraintJob>(std::move(constraint), part);
    {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(job);
    }
    changed_.notify_one();
    return job;
}

void ConstraintWorkers::dispose(std::shared_ptr<Constraint> constraint) {
    try {
        const std::scoped_lock lock(mutex_);
        disposed_.push_back(constraint);
        constraint.reset(); // before a worker sees it: otherwise it may be destroyed on this thread after all
    } catch (const std::bad_alloc&) {
        return; // destroyed on this thread
    }
    changed_.notify_one();
}

void ConstraintWorkers::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty() || !disposed_.empty(); });
        if (is_stopping_)
            return;
        if (disposed_.empty()) {
            work_on_first(lock);
            continue;
        }
        auto disposed = std::exchange(disposed_, {});
        lock.unlock();
        disposed.clear();
        lock.lock();
    }
}

void ConstraintWorkers::work_on_first(std::unique_lock<std::mutex>& lock) {
    Jobs own; // holds the job when it is over, so that its constraint is destroyed with the mutex unlocked
    const auto job = queue_.begin();
    running_.splice(running_.end(), queue_, job);
    lock.unlock();
    const bool is_over = (*job)->run();
    if (is_over)
        on_done_();
    lock.lock();
    Jobs& next = is_over ? own : queue_;
    next.splice(next.end(), running_, job);
    lock.unlock();
    own.clear();
    lock.lock();
}

} // namespace etna::engine
