#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

// Private to core/grammar.
namespace etna::grammar {

/// A semaphore that is fair among clients. The next turn goes to the client whose last turn is the longest
/// ago, or that had none; within a client, first come, first served. Thread-safe.
class Turns {
public:
    explicit Turns(std::size_t at_a_time) : left_(at_a_time) {}

    /// A turn, held until it is destroyed. Borrows the turns.
    class Turn {
    public:
        /// Blocks until the turn is given, or until `stop` returns true: it is polled, and may be empty.
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
            turns_->changed_.notify_all(); // the next waiter has changed
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
    static constexpr std::size_t clients_max = 4096; ///< remembered clients

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

    std::mutex mutex_; ///< guards all below
    std::condition_variable changed_;
    std::size_t left_;
    uint64_t next_ = 0; ///< number of the next waiter, if there is one
    uint64_t next_number_ = 0;
    uint64_t turns_given_ = 0;
    std::map<uint64_t, uint64_t> waiting_;    ///< clients, by order of arrival
    std::map<uint64_t, uint64_t> last_turns_; ///< each client's last turn; cleared if none waits
};

} // namespace etna::grammar
