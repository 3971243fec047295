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
    uint32_t high_water = 10'000; ///< queued batches per subscriber; further ones are dropped for it
    std::size_t replay_batches_max = 10'000;         ///< batches stored per model for replays
    std::size_t replay_bytes_max = 64 * 1024 * 1024; ///< bytes of these batches
    std::size_t queued_changes_max = 65'536;         ///< unpublished changes of all models
};

/// Publishes the contents of the models' prompt caches, as vLLM's ZmqEventPublisher does: a PUB socket sends
/// messages of three frames (topic `kv@POD@MODEL`, the topic's 8-byte sequence number, encode_batch()), and a
/// ROUTER socket replays stored batches. A replay request has an empty frame, the first sequence number and,
/// as an extension of vLLM's protocol, optionally a topic; without one, the first model's topic is replayed.
/// Each batch is sent as an empty frame, its number and its payload; the end marker has the number -1 and an
/// empty payload. All numbers are big-endian.
///
/// One thread owns the sockets. Engines only append to a bounded queue. On overflow, the queued changes of
/// the model are replaced by AllBlocksCleared, and the engine reports all its pages again: a subscriber that
/// applies batches in order misses these pages for a moment at worst. A slow subscriber loses batches, sees
/// the gap in the sequence numbers, and can request a replay. Thread-safe.
class Publisher {
public:
    /// Opens the sockets. `warn` receives a line about anything that subscribers may notice, on the
    /// publisher's thread. Errors: those of Socket::open(), out_of_memory (no thread, no descriptor).
    static Result<std::unique_ptr<Publisher>> open(const PublisherOptions& options,
                                                   std::function<void(std::string_view)> warn);
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    /// Publishes the queued changes and closes the sockets; engines may outlive this object.
    ~Publisher();

    /// Starts publishing. Call once. `pod`: the name of this server in topics, without `@`.
    void start(const std::string& pod);

    /// Returns the observer for the engine of a loaded model. Earlier observers of the model have no further
    /// effect. `page_tokens`: Limits::page_tokens.
    std::shared_ptr<engine::CacheObserver> observe(const std::string& model, uint32_t page_tokens);

    /// The addresses in use; the replay address is empty if replay is off.
    [[nodiscard]] const std::string& endpoint() const;
    [[nodiscard]] const std::string& replay_endpoint() const;

    struct Counts {
        std::string model;
        uint64_t published = 0; ///< published batches; also the next sequence number
        uint64_t dropped = 0;   ///< batches dropped because the queue was full
    };
    [[nodiscard]] std::vector<Counts> counts() const;

private:
    class Loop;

    explicit Publisher(std::shared_ptr<Loop> loop);

    std::shared_ptr<Loop> loop_; ///< shared with the observers
};

} // namespace etna::server::kv_events
