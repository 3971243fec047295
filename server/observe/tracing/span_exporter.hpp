#pragma once

#include "core/store/http_client.hpp"
#include "server/observe/tracing/span.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server::tracing {

/// The collector, and how to reach it.
struct ExportOptions {
    std::string url; ///< the collector's OTLP/HTTP endpoint, such as http://localhost:4318/v1/traces
    store::HttpSettings http = {};
    std::chrono::milliseconds interval{1'000};    ///< time between exports, unless a batch is full
    std::chrono::milliseconds first_retry{1'000}; ///< delay before the first retry; doubles with each failure
    std::chrono::milliseconds retry_wait_max{30'000};
    std::chrono::milliseconds answer_limit{10'000}; ///< timeout of one export, for a slow or endless response
};

/// Exports spans to a collector on its own thread. An unreachable, slow or refusing collector never delays a
/// request: spans that overflow the bounded queue are dropped and counted. Thread-safe.
class SpanExporter {
public:
    static constexpr std::size_t waiting_max = 8192; ///< maximum queued spans
    static constexpr std::size_t batch_max = 512;    ///< maximum spans in one export

    struct Counts {
        uint64_t exported = 0;
        uint64_t dropped = 0;
        bool is_failing = false; ///< the last export failed
    };

    /// Writes a line to `log` when exports start to fail, and another when they succeed again. Throws
    /// std::system_error if no thread can be created.
    SpanExporter(ExportOptions options, std::function<void(std::string_view line)> log);
    SpanExporter(const SpanExporter&) = delete;
    SpanExporter& operator=(const SpanExporter&) = delete;
    /// Exports the queued spans, for at most flush_limit.
    ~SpanExporter();

    /// Queues the spans. Never blocks on the network.
    void add(std::vector<Span> spans);

    [[nodiscard]] Counts counts() const;

private:
    static constexpr std::chrono::milliseconds flush_limit{2'000};

    void work();
    [[nodiscard]] std::vector<Span> take(std::unique_lock<std::mutex>& lock);
    void send(const std::vector<Span>& batch);
    void record_failure(std::string_view why, const std::vector<Span>& batch, bool may_retry);
    void record_success(std::size_t spans, std::size_t rejected);
    [[nodiscard]] bool must_give_up() const;

    const ExportOptions options_;
    const std::string name_;     ///< the collector's name in the log: without secrets
    const std::string instance_; ///< service.instance.id
    const std::function<void(std::string_view)> log_;
    store::HttpClient client_;                              ///< used by the thread only
    std::chrono::steady_clock::time_point answer_end_ = {}; ///< deadline of the export; thread only

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Span> waiting_;
    Counts counts_;
    std::chrono::milliseconds retry_wait_{0}; ///< 0: the last export succeeded
    bool is_ending_ = false;
    std::chrono::steady_clock::time_point end_limit_ = {};
    std::thread thread_;
};

} // namespace etna::server::tracing
