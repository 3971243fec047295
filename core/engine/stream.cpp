#include "core/engine/stream.hpp"

#include <utility>

namespace etna::engine {

void Channel::push(TokenEvent token) {
    if (token.origin == Origin::generation)
        generated_tokens_.fetch_add(1, std::memory_order_relaxed);
    {
        const std::scoped_lock lock(mutex_);
        tokens_.push_back(std::move(token));
    }
    reader_->notify();
}

void Channel::finish(Finished finished) {
    {
        const std::scoped_lock lock(mutex_);
        finished_ = std::move(finished);
    }
    reader_->notify();
}

bool Channel::is_full() {
    const std::scoped_lock lock(mutex_);
    return !has_capacity();
}

std::optional<Event> Channel::try_next() {
    std::unique_lock lock(mutex_);
    if (read_ == tokens_.size())
        return finished_ ? std::optional<Event>(*finished_) : std::nullopt;
    const bool was_full = !has_capacity();
    TokenEvent token = std::move(tokens_[read_++]);
    if (read_ == tokens_.size()) { // frees the memory of tokens that were read
        tokens_.clear();
        read_ = 0;
    }
    const bool frees_capacity = was_full && has_capacity();
    lock.unlock();
    if (frees_capacity)
        engine_->notify();
    return token;
}

void Channel::cancel() {
    if (!is_cancelled_.exchange(true, std::memory_order_relaxed))
        engine_->notify(); // wake the engine: it may be blocked on this stream alone
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

std::optional<Event> Stream::try_next() {
    return channel_->try_next();
}

Event Stream::next() {
    while (true) {
        if (auto event = try_next())
            return std::move(*event);
        wait_any(*this, std::chrono::hours(1));
    }
}

std::optional<Event> Stream::next_for(std::chrono::milliseconds timeout) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (true) {
        if (auto event = try_next())
            return event;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            return std::nullopt;
        wait_any(*this, left);
    }
}

std::optional<PromptProgress> Stream::progress() const {
    return channel_->progress();
}

uint32_t Stream::generated_tokens() const {
    return channel_->generated_tokens();
}

void Stream::cancel() {
    if (channel_) // null after a move
        channel_->cancel();
}

void wait_any(const Stream& one, std::chrono::milliseconds timeout) {
    WakeSignal& wake = *one.channel_->reader();
    std::unique_lock lock(wake.mutex);
    wake.changed.wait_for(lock, timeout, [&] { return wake.is_signalled; });
    wake.is_signalled = false;
}

} // namespace etna::engine
