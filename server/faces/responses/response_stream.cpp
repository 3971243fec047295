#include "server/faces/responses/response_stream.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace etna::server::responses {

void ResponseStream::set_object(Json object) {
    const std::scoped_lock lock(mutex_);
    object_ = std::move(object);
}

Json ResponseStream::object() const {
    const std::scoped_lock lock(mutex_);
    return object_;
}

void ResponseStream::add(std::string frame) {
    const std::scoped_lock lock(mutex_);
    frames_.push_back(std::move(frame));
    changed_.notify_all();
}

void ResponseStream::end() {
    const std::scoped_lock lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
}

void ResponseStream::end(Json object, const std::vector<std::string>& last_frames) {
    const std::scoped_lock lock(mutex_);
    object_ = std::move(object);
    frames_.insert(frames_.end(), last_frames.begin(), last_frames.end());
    has_ended_ = true;
    changed_.notify_all();
}

bool ResponseStream::has_ended() const {
    const std::scoped_lock lock(mutex_);
    return has_ended_;
}

void ResponseStream::wait_for_end(std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return has_ended_; });
}

std::vector<std::string> ResponseStream::frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
}

std::optional<std::string> ResponseStream::wait(std::size_t number, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return number < frames_.size() || has_ended_; });
    return number < frames_.size() ? std::optional(frames_[number]) : std::nullopt;
}

RunningResponses::~RunningResponses() {
    std::unique_lock lock(mutex_);
    for (const auto& [id, weak] : streams_) {
        if (const auto stream = weak.lock())
            stream->cancel();
    }
    ended_.wait(lock, [&] { return threads_ == 0; });
}

void RunningResponses::add(const std::shared_ptr<ResponseStream>& stream) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(streams_, [](const auto& entry) { return entry.second.expired(); });
    streams_[stream->id()] = stream;
}

void RunningResponses::hold(std::shared_ptr<ResponseStream> stream) {
    const std::scoped_lock lock(mutex_);
    unstored_.push_back(std::move(stream));
    if (unstored_.size() <= unstored_max)
        return;
    std::map<storage::Owner, std::size_t> counts;
    for (const auto& held : unstored_)
        ++counts[held->owner()];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    unstored_.erase(
        std::ranges::find(unstored_, most->first, [](const auto& held) { return held->owner(); }));
}

void RunningResponses::forget(const ResponseStream& stream) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(unstored_, [&](const auto& held) { return held.get() == &stream; });
    streams_.erase(stream.id());
}

std::shared_ptr<ResponseStream> RunningResponses::find(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(id);
    auto stream = found == streams_.end() ? nullptr : found->second.lock();
    return stream != nullptr && stream->owner() == owner ? stream : nullptr;
}

bool RunningResponses::has_room(uint64_t client) const {
    if (threads_ < background_max)
        return true;
    const auto own = threads_of_.find(client);
    return (own == threads_of_.end() || own->second < background_of_light_client) &&
           threads_ < 2 * background_max;
}

bool RunningResponses::spawn(uint64_t client, std::function<void()> work) {
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
                work = nullptr; // send_answer() has reported the error if it could
            }
            work = nullptr; // destroyed before end(), because its captures may release a response
            end();
        }).detach();
    } catch (const std::system_error&) {
        end();
        return false;
    }
    return true;
}

bool RunningResponses::wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, timeout, [&] { return threads_ == 0; });
}

} // namespace etna::server::responses
