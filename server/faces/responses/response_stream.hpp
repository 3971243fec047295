#pragma once

#include "server/base/json.hpp"
#include "server/storage/store.hpp"

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

/// The shared state of a running response, for other requests: its current object, the frames sent so far,
/// and whether it is cancelled. Thread-safe.
class ResponseStream {
public:
    ResponseStream(std::string id, storage::Owner owner, bool is_streamed)
        : id_(std::move(id)), owner_(std::move(owner)), is_streamed_(is_streamed) {}

    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] const storage::Owner& owner() const { return owner_; }
    /// Whether it has stream events.
    [[nodiscard]] bool is_streamed() const { return is_streamed_; }

    /// Sets the request's items. Call before RunningResponses::add().
    void set_input(Json input) { input_ = std::move(input); }
    [[nodiscard]] const Json& input() const { return input_; }

    void set_object(Json object);
    [[nodiscard]] Json object() const;

    /// Appends the next event, as a frame.
    void add(std::string frame);
    /// Marks the end of the events.
    void end();
    /// The same, with the final object and the last events: other requests see all of them or none.
    void end(Json object, const std::vector<std::string>& last_frames);
    [[nodiscard]] bool has_ended() const;
    /// Blocks until the end, at most for `timeout`.
    void wait_for_end(std::chrono::milliseconds timeout) const;
    [[nodiscard]] std::vector<std::string> frames() const;

    /// Returns the event with that number. Blocks for it, at most for `timeout`; empty on timeout or past
    /// the end.
    [[nodiscard]] std::optional<std::string> wait(std::size_t number,
                                                  std::chrono::milliseconds timeout) const;

    void cancel() { is_cancelled_ = true; }
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_; }

    /// Marks that the result could not be stored, so that it is served from memory.
    void set_unstored() { is_unstored_ = true; }
    [[nodiscard]] bool is_unstored() const { return is_unstored_; }

private:
    const std::string id_;
    const storage::Owner owner_;
    const bool is_streamed_;
    Json input_;
    std::atomic<bool> is_cancelled_{false};
    std::atomic<bool> is_unstored_{false};
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    Json object_;
    std::vector<std::string> frames_;
    bool has_ended_ = false;
};

/// The running responses, and the threads of background ones. Thread-safe.
class RunningResponses {
public:
    static constexpr std::size_t background_max = 256; ///< concurrent
    /// A client with fewer than this many is admitted even when `background_max` is reached, up to twice
    /// `background_max` in total.
    static constexpr std::size_t background_of_light_client = 16;
    /// Unstored results; beyond it, the oldest of the owner with the most is released.
    static constexpr std::size_t unstored_max = 256;

    RunningResponses() = default;
    RunningResponses(const RunningResponses&) = delete;
    RunningResponses& operator=(const RunningResponses&) = delete;
    /// Cancels all running work and waits for it.
    ~RunningResponses();

    /// Makes a response visible to find() during this object's lifetime.
    void add(const std::shared_ptr<ResponseStream>& stream);

    /// Retains a response that could not be stored: see ResponseStream::set_unstored().
    void hold(std::shared_ptr<ResponseStream> stream);
    /// Releases a retained response.
    void forget(const ResponseStream& stream);

    /// Returns null if not found, or owned by another key.
    [[nodiscard]] std::shared_ptr<ResponseStream> find(const storage::Owner& owner, const std::string& id);

    /// Runs a client's work on a separate thread. Returns false if too many are running, or no thread can be
    /// created. An exception ends only this work.
    bool spawn(uint64_t client, std::function<void()> work);

    /// Blocks until no work is left. Returns false on timeout.
    bool wait(std::chrono::milliseconds timeout);

private:
    [[nodiscard]] bool has_room(uint64_t client) const;

    std::mutex mutex_;
    std::condition_variable ended_;
    std::map<std::string, std::weak_ptr<ResponseStream>, std::less<>> streams_;
    std::deque<std::shared_ptr<ResponseStream>> unstored_;
    std::size_t threads_ = 0;
    std::map<uint64_t, std::size_t> threads_of_; ///< by client
};

} // namespace etna::server::responses
