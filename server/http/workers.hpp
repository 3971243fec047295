#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace etna::server {

/// A thread pool for requests that grows on demand up to a bound; idle threads end after `idle_time`. When
/// `busy_max` threads are busy, clients with little work in progress can still start some, up to twice
/// `busy_max` in total. Thread-safe.
class Workers {
public:
    using Work = std::function<void()>;

    /// A client with less work than this in progress can start some when `busy_max` threads are busy.
    static constexpr std::size_t light_client_max = 16;

    /// Whether work may use the reserved threads when `busy_max` threads are busy.
    enum class Priority : uint8_t { normal, reserved };

    /// `reserved_max`: threads beyond `busy_max`, for work of reserved priority only.
    Workers(std::size_t busy_max, std::size_t reserved_max)
        : busy_max_(busy_max), reserved_max_(reserved_max) {}
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Waits for all work to end.
    ~Workers();

    /// Runs `work`, which must not throw, on a thread. Returns false if all that `client` may use are busy.
    bool start(Work work, Priority priority, uint64_t client);

    /// Blocks until no work is left or `limit` has passed. Returns false if some is left.
    bool wait(std::chrono::milliseconds limit);

    [[nodiscard]] std::size_t busy() const;

private:
    static constexpr std::chrono::seconds idle_time{10};

    using Threads = std::list<std::thread>;

    /// Work that no thread has taken yet.
    struct Waiting {
        Work work;
        uint64_t client = 0;
    };

    [[nodiscard]] bool may_start(Priority priority, uint64_t client) const;
    void loop(Threads::iterator self);

    const std::size_t busy_max_;
    const std::size_t reserved_max_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Waiting> queue_; ///< an idle thread is about to take each entry
    Threads threads_;
    Threads ended_; ///< ended or about to end; still to be joined
    std::size_t idle_ = 0;
    std::size_t busy_ = 0;                    ///< started and unfinished work
    std::map<uint64_t, std::size_t> busy_of_; ///< the same, by client
    bool is_stopping_ = false;
};

} // namespace etna::server
