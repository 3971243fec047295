#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace etna::server {

/// Threads for requests: as many as have work, up to a bound; one without work for a while ends. Thread-safe.
class Workers {
public:
    using Work = std::function<void()>;

    explicit Workers(std::size_t threads_max) : threads_max_(threads_max) {}
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Waits for all work.
    ~Workers();

    /// Runs `work`, which must not throw, on a thread. False when all are at work.
    bool start(Work work);

    /// Blocks until no work is left.
    void wait();

    [[nodiscard]] std::size_t busy() const;

private:
    static constexpr std::chrono::seconds idle_time{10};

    using Threads = std::list<std::thread>;

    void loop(Threads::iterator self);

    const std::size_t threads_max_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> waiting_; ///< each has an idle thread that is about to take it
    Threads threads_;
    Threads ended_; ///< or about to: what is left is to join them
    std::size_t idle_ = 0;
    std::size_t busy_ = 0; ///< work that was started and has not ended
    bool is_ending_ = false;
};

} // namespace etna::server
