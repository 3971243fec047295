#include "server/http/workers.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace etna::server {

Workers::~Workers() {
    {
        std::unique_lock lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return threads_.empty(); });
    }
    for (std::thread& thread : ended_)
        thread.join();
}

/// The mutex is held.
bool Workers::may_start(Priority priority, uint64_t client) const {
    if (busy_ < busy_max_ + (priority == Priority::reserved ? reserved_max_ : 0))
        return true;
    const auto own = busy_of_.find(client);
    const std::size_t count = own == busy_of_.end() ? 0 : own->second;
    return count < std::min(light_client_max, busy_max_) && busy_ < 2 * busy_max_;
}

bool Workers::start(Work work, Priority priority, uint64_t client) {
    Threads ended;
    {
        const std::scoped_lock lock(mutex_);
        if (is_stopping_ || !may_start(priority, client))
            return false;
        if (queue_.size() == idle_) {
            const auto self = threads_.emplace(threads_.end());
            try {
                *self = std::thread([this, self] { loop(self); });
            } catch (const std::exception&) { // thread creation failed
                threads_.erase(self);
                return false;
            }
            ++idle_;
        }
        queue_.push_back({std::move(work), client});
        ++busy_;
        ++busy_of_[client];
        ended.swap(ended_);
    }
    changed_.notify_all();
    for (std::thread& thread : ended)
        thread.join();
    return true;
}

bool Workers::wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [this] { return busy_ == 0; });
}

std::size_t Workers::busy() const {
    const std::scoped_lock lock(mutex_);
    return busy_;
}

void Workers::loop(Threads::iterator self) {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait_for(lock, idle_time, [this] { return is_stopping_ || !queue_.empty(); });
        if (queue_.empty())
            break;
        --idle_;
        const Waiting next = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        next.work();
        lock.lock();
        --busy_;
        if (const auto own = busy_of_.find(next.client); --own->second == 0)
            busy_of_.erase(own);
        ++idle_;
        changed_.notify_all();
    }
    --idle_;
    ended_.splice(ended_.end(), threads_, self);
    changed_.notify_all();
}

} // namespace etna::server
