#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

// Private to the room.
namespace etna::grammar {

/// Lets so many at a time do something; others wait. Thread-safe.
class Turns {
public:
    explicit Turns(std::size_t at_a_time) : left_(at_a_time) {}

    /// A turn, from when it is given until the end of its life. Borrows the turns.
    class Turn {
    public:
        explicit Turn(Turns& turns) : turns_(&turns) {
            std::unique_lock lock(turns_->mutex_);
            turns_->returned_.wait(lock, [this] { return turns_->left_ > 0; });
            --turns_->left_;
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            {
                const std::scoped_lock lock(turns_->mutex_);
                ++turns_->left_;
            }
            turns_->returned_.notify_one();
        }

    private:
        Turns* turns_;
    };

private:
    std::mutex mutex_;
    std::condition_variable returned_;
    std::size_t left_;
};

} // namespace etna::grammar
