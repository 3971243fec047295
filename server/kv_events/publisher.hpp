#pragma once

#include "core/base/result.hpp"
#include "core/engine/cache_journal.hpp"
#include "server/kv_events/event_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::kv_events {

struct PublisherOptions {
    std::string endpoint = {};        ///< "tcp://*:5557"; see Socket::open()
    std::string replay_endpoint = {}; ///< empty: no replay
    EventFormat format = EventFormat::arrays;
    PartialPages partial = PartialPages::hidden;
    uint32_t high_water = 10'000; ///< batches that wait for one subscriber; more are dropped for it
    std::size_t replay_batches_max = 10'000;         ///< kept for each model
    std::size_t replay_bytes_max = 64 * 1024 * 1024; ///< the same, in bytes
    std::size_t queued_changes_max = 65'536;         ///< of all models, until the thread takes them
};

/// Publishes what the caches of models hold, as vLLM's ZmqEventPublisher does: a PUB socket with messages of
/// three frames (topic `kv@POD@MODEL`, sequence number of the topic as 8 bytes, encode_batch()), and a ROUTER
/// socket that sends kept batches again. A request for a replay is an empty frame, the first sequence number,
/// and, beyond vLLM, perhaps a topic; without one the topic of the first model answers. Each batch comes as
/// an empty frame, its number and its payload; the end has the number -1 and no payload. All numbers are
/// big-endian.
///
/// One thread owns the sockets. An engine only appends to a bounded queue; if that is full, what waits for
/// its model is dropped and AllBlocksCleared published in its place, and the engine tells all pages again: a
/// subscriber that applies batches in order is never wrong about more than that. A subscriber that is slow
/// loses batches, sees the gap in the numbers, and asks for a replay. Thread-safe.
class Publisher {
public:
    /// Opens the sockets. `warn` takes one line about what subscribers may notice, on the publisher's thread.
    /// Errors: those of Socket::open(), out_of_memory (no thread, no descriptor).
    static Result<std::unique_ptr<Publisher>> open(const PublisherOptions& options,
                                                   std::function<void(std::string_view)> warn);
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    /// Publishes what is queued and closes the sockets; engines may outlive it.
    ~Publisher();

    /// Starts to publish, once. `pod`: the name of this server in topics, without `@`.
    void start(const std::string& pod);

    /// Returns the observer of a loaded model's engine. That of the same model before it has no effect from
    /// now on. `page_tokens`: Limits::page_tokens.
    std::shared_ptr<engine::CacheObserver> observe(const std::string& model, uint32_t page_tokens);

    /// The addresses in use; that of the replay is empty without one.
    [[nodiscard]] const std::string& endpoint() const;
    [[nodiscard]] const std::string& replay_endpoint() const;

    struct Counts {
        std::string model;
        uint64_t published = 0; ///< batches; the next sequence number
        uint64_t dropped = 0;   ///< batches that the queue had no room for
    };
    [[nodiscard]] std::vector<Counts> counts() const;

private:
    class Loop;

    explicit Publisher(std::shared_ptr<Loop> loop);

    std::shared_ptr<Loop> loop_; ///< shared with the observers
};

} // namespace etna::server::kv_events
