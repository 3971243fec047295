#include "core/engine/stream.hpp"

#include "core/engine/channel.hpp"

#include <utility>

namespace etna::engine {

bool Channel::is_full() {
    const std::scoped_lock lock(mutex_);
    return !has_room();
}

void Channel::push(TokenEvent token) {
    const std::scoped_lock lock(mutex_);
    tokens_.push_back(std::move(token));
    changed_.notify_one();
}

void Channel::finish(Finished finished) {
    const std::scoped_lock lock(mutex_);
    finished_ = std::move(finished);
    changed_.notify_one();
}

Event Channel::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_event(); });
    return take(std::move(lock));
}

std::optional<Event> Channel::next_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return has_event(); }))
        return std::nullopt;
    return take(std::move(lock));
}

void Channel::cancel() {
    if (!is_cancelled_.exchange(true, std::memory_order_relaxed))
        bell_->ring(); // it may be the only one for whom the engine waits
}

Event Channel::take(std::unique_lock<std::mutex> lock) {
    if (read_ == tokens_.size())
        return *finished_;
    const bool was_full = !has_room();
    TokenEvent token = std::move(tokens_[read_++]);
    if (read_ == tokens_.size()) { // a reader that keeps up keeps the list short
        tokens_.clear();
        read_ = 0;
    }
    const bool makes_room = was_full && has_room();
    lock.unlock();
    if (makes_room)
        bell_->ring();
    return token;
}

Stream::Stream(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        cancel();
        channel_ = std::move(other.channel_);
    }
    return *this;
}

Stream::~Stream() {
    cancel();
}

Event Stream::next() {
    return channel_->next();
}

std::optional<Event> Stream::next_for(std::chrono::milliseconds timeout) {
    return channel_->next_for(timeout);
}

void Stream::cancel() {
    if (channel_) // empty once it was moved from
        channel_->cancel();
}

} // namespace etna::engine
