#pragma once

#include "server/json.hpp"
#include "server/memory/store.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::responses {

/// A response that is being made, for those who did not ask for it: how far it is, what its stream has told,
/// and whether somebody wants it ended. Thread-safe.
class Run {
public:
    Run(std::string id, memory::Owner owner, bool is_streamed)
        : id_(std::move(id)), owner_(std::move(owner)), is_streamed_(is_streamed) {}

    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] const memory::Owner& owner() const { return owner_; }
    /// Whether it has events.
    [[nodiscard]] bool is_streamed() const { return is_streamed_; }

    /// The request's items: before others may find it.
    void set_input(Json input) { input_ = std::move(input); }
    [[nodiscard]] const Json& input() const { return input_; }

    void set(Json object);
    [[nodiscard]] Json object() const;

    /// The next event, as a frame.
    void add(std::string frame);
    /// No further event comes.
    void end();
    [[nodiscard]] bool has_ended() const;
    /// At most so long.
    void wait_for_end(std::chrono::milliseconds patience) const;
    [[nodiscard]] std::vector<std::string> frames() const;

    /// The event of that number. Waits for it, at most so long; empty where it is not there by then.
    [[nodiscard]] std::optional<std::string> wait(std::size_t number,
                                                  std::chrono::milliseconds patience) const;

    void cancel() { is_cancelled_ = true; }
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }

    /// Says that the store does not have what it has become, so that it is told from here.
    void set_lost() { is_lost_ = true; }
    [[nodiscard]] bool is_lost() const { return is_lost_; }

private:
    const std::string id_;
    const memory::Owner owner_;
    const bool is_streamed_;
    Json input_;
    std::atomic<bool> is_cancelled_{false};
    std::atomic<bool> is_lost_{false};
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Json object_;
    std::vector<std::string> frames_;
    bool has_ended_ = false;
};

/// The responses that are being made, and the threads of those that nobody waits for. Thread-safe.
class Runs {
public:
    static constexpr std::size_t background_max = 256; ///< at a time
    /// A client that has no more than that finds room where others have used up `background_max`: as many
    /// again in all.
    static constexpr std::size_t background_of_light_client = 16;
    static constexpr std::size_t lost_max = 256; ///< the newest are remembered

    Runs() = default;
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;
    /// Cancels what runs, and waits for it.
    ~Runs();

    /// Lets others find it, as long as somebody holds it.
    void show(const std::shared_ptr<Run>& run);

    /// Holds one that nobody else has any more: see Run::set_lost().
    void hold(std::shared_ptr<Run> run);
    /// Lets go of one that was held.
    void forget(const Run& run);

    /// Null where it is not there, or somebody else's.
    [[nodiscard]] std::shared_ptr<Run> find(const memory::Owner& owner, const std::string& id);

    /// Does the work of a client on a thread of its own. False where there are too many already, or no thread
    /// is to be had. An exception ends the work, and nothing else.
    bool spawn(uint64_t client, std::function<void()> work);

    /// Waits until no work is left. False where the time is over before.
    bool wait(std::chrono::milliseconds patience);

private:
    [[nodiscard]] bool has_room(uint64_t client) const;

    std::mutex mutex_;
    std::condition_variable ended_;
    std::map<std::string, std::weak_ptr<Run>, std::less<>> runs_;
    std::deque<std::shared_ptr<Run>> lost_;
    std::size_t threads_ = 0;
    std::map<uint64_t, std::size_t> threads_of_; ///< by client
};

} // namespace etna::server::responses
