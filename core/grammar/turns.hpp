#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

// Private to the room.
namespace etna::grammar {

/// Lets so many at a time do something; others wait. The next is of the client that had a turn the longest
/// ago, or none; of one client who came first. Thread-safe.
class Turns {
public:
    explicit Turns(std::size_t at_a_time) : left_(at_a_time) {}

    /// A turn, from when it is given until the end of its life. Borrows the turns.
    class Turn {
    public:
        /// Waits for it, unless `stop` says not to: it is asked now and then, and may be empty.
        explicit Turn(Turns& turns, uint64_t client = 0, const std::function<bool()>& stop = {})
            : turns_(&turns) {
            std::unique_lock lock(turns_->mutex_);
            const uint64_t number = turns_->next_number_++;
            turns_->waiting_.emplace(number, client);
            turns_->choose_next();
            const auto is_next = [&] { return turns_->left_ > 0 && turns_->next_ == number; };
            while (!is_given_ && !(stop && stop()))
                is_given_ = turns_->changed_.wait_for(lock, stop_poll, is_next);
            turns_->waiting_.erase(number);
            if (is_given_) {
                --turns_->left_;
                turns_->note_turn(client);
            }
            turns_->choose_next();
            turns_->changed_.notify_all(); // another is the next one now
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            if (!is_given_)
                return;
            {
                const std::scoped_lock lock(turns_->mutex_);
                ++turns_->left_;
            }
            turns_->changed_.notify_all();
        }

        [[nodiscard]] bool is_given() const { return is_given_; }

    private:
        static constexpr std::chrono::milliseconds stop_poll{50};

        Turns* turns_;
        bool is_given_ = false;
    };

private:
    static constexpr std::size_t clients_max = 4096; ///< that are remembered

    void choose_next() {
        uint64_t earliest = UINT64_MAX;
        for (const auto& [number, client] : waiting_) {
            if (const uint64_t last = last_turn(client); last < earliest) {
                earliest = last;
                next_ = number;
            }
        }
    }

    [[nodiscard]] uint64_t last_turn(uint64_t client) const {
        const auto known = last_turns_.find(client);
        return known == last_turns_.end() ? 0 : known->second;
    }

    void note_turn(uint64_t client) {
        if (waiting_.empty() || last_turns_.size() >= clients_max)
            last_turns_.clear();
        last_turns_[client] = ++turns_given_;
    }

    std::mutex mutex_; ///< of all below
    std::condition_variable changed_;
    std::size_t left_;
    uint64_t next_ = 0; ///< the number of who is the next, where somebody waits
    uint64_t next_number_ = 0;
    uint64_t turns_given_ = 0;
    std::map<uint64_t, uint64_t> waiting_;    ///< clients, by the number in which they came
    std::map<uint64_t, uint64_t> last_turns_; ///< when each client had one, as long as somebody waits
};

} // namespace etna::grammar
