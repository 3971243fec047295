#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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

    /// Who may have a thread when `busy_max` are at work.
    enum class Rank : uint8_t { common, vital };

    /// `reserve`: threads beyond `busy_max` that vital work alone may have.
    Workers(std::size_t busy_max, std::size_t reserve) : busy_max_(busy_max), reserve_(reserve) {}
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Waits for all work.
    ~Workers();

    /// Runs `work`, which must not throw, on a thread. False when all are at work.
    bool start(Work work, Rank rank);

    /// Blocks until no work is left, or `limit` has passed. False where some is left.
    bool wait(std::chrono::milliseconds limit);

    [[nodiscard]] std::size_t busy() const;

private:
    static constexpr std::chrono::seconds idle_time{10};

    using Threads = std::list<std::thread>;

    void loop(Threads::iterator self);

    const std::size_t busy_max_;
    const std::size_t reserve_;
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
