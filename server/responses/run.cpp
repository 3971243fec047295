#include "server/responses/run.hpp"

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace etna::server::responses {

void Run::set(Json object) {
    const std::scoped_lock lock(mutex_);
    object_ = std::move(object);
}

Json Run::object() const {
    const std::scoped_lock lock(mutex_);
    return object_;
}

void Run::add(std::string frame) {
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
    changed_.notify_all();
}

void Run::end() {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
}

bool Run::has_ended() const {
    const std::scoped_lock lock(mutex_);
    return has_ended_;
}

void Run::wait_for_end(std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return has_ended_; });
}

std::vector<std::string> Run::frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
}

std::optional<std::string> Run::wait(std::size_t number, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return number < frames_.size() || has_ended_; });
    return number < frames_.size() ? std::optional(frames_[number]) : std::nullopt;
}

Runs::~Runs() {
    std::unique_lock lock(mutex_);
    for (const auto& [id, weak] : runs_) {
        if (const auto run = weak.lock())
            run->cancel();
    }
    ended_.wait(lock, [&] { return threads_ == 0; });
}

void Runs::show(const std::shared_ptr<Run>& run) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(runs_, [](const auto& entry) { return entry.second.expired(); });
    runs_[run->id()] = run;
}

void Runs::hold(std::shared_ptr<Run> run) {
    const std::scoped_lock lock(mutex_);
    lost_.push_back(std::move(run));
    if (lost_.size() > lost_max)
        lost_.pop_front();
}

void Runs::forget(const Run& run) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(lost_, [&](const auto& held) { return held.get() == &run; });
    runs_.erase(run.id());
}

std::shared_ptr<Run> Runs::find(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = runs_.find(id);
    auto run = found == runs_.end() ? nullptr : found->second.lock();
    return run != nullptr && run->owner() == owner ? run : nullptr;
}

bool Runs::has_room(uint64_t client) const {
    if (threads_ < background_max)
        return true;
    const auto own = threads_of_.find(client);
    return (own == threads_of_.end() || own->second < background_of_light_client) &&
           threads_ < 2 * background_max;
}

bool Runs::spawn(uint64_t client, std::function<void()> work) {
    {
        const std::scoped_lock lock(mutex_);
        if (!has_room(client))
            return false;
        ++threads_;
        ++threads_of_[client];
    }
    const auto end = [this, client] {
        const std::scoped_lock lock(mutex_);
        --threads_;
        if (const auto own = threads_of_.find(client); --own->second == 0)
            threads_of_.erase(own);
        ended_.notify_all();
    };
    try {
        std::thread([end, work = std::move(work)]() mutable {
            try {
                work();
            } catch (const std::exception&) {
                work = nullptr; // make() has reported what it could: see Making::make()
            }
            work = nullptr; // destroyed before end(), because its captures may release a run
            end();
        }).detach();
    } catch (const std::system_error&) {
        end();
        return false;
    }
    return true;
}

bool Runs::wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, timeout, [&] { return threads_ == 0; });
}

} // namespace etna::server::responses
