#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "server/app/open_persistence.hpp"
#include "server/app/router.hpp"
#include "server/batch/batches.hpp"
#include "server/faces/responses/response_stream.hpp"
#include "server/http/listener.hpp"
#include "server/observe/tracing/span_exporter.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server {

struct ServerOptions {
    ConnectionOptions connection;
    /// Also listens on this port of the same host, for clients that expect it; empty: on one port.
    std::optional<int> second_port = {};
    ServiceOptions service;
    std::chrono::milliseconds drain_timeout{30'000};
    PersistenceOptions persistence = {};
    const kv_events::Publisher* kv_events = nullptr;   ///< borrowed; for its metrics; null: none
    std::optional<tracing::ExportOptions> traces = {}; ///< empty: requests are not traced
};

/// The outcome of Server::run().
enum class ShutdownResult : uint8_t {
    clean,
    not_started, ///< a function of StartUp returned false
    /// Threads are still running requests or loading a model: destroying the server or the models waits for
    /// them, ending the process does not.
    abandoned,
};

/// The work between listening and answering. Either function may be empty; false ends the server.
struct StartUp {
    /// Runs on a thread of its own while requests get 503, and GET /health reports that models are loading.
    /// It should return soon once run()'s `should_stop` returns true.
    std::function<bool()> prepare = {};
    /// Runs when requests are answered.
    std::function<bool()> on_ready = {};
};

/// The HTTP server for a set of models. Never ends the process and prints nothing: messages go to `log`.
class Server {
public:
    /// Opens the store and binds the address; requests are not answered before run(). `models` is borrowed.
    /// Blocks: waits for another process that holds the store's file and has announced its end. Errors: those
    /// of storage::Store::open(), Seal::open() and Listener::open().
    static Result<std::unique_ptr<Server>> open(const ServerOptions& options, Models& models,
                                                std::function<void(std::string_view line)> log);

    [[nodiscard]] int port() const { return listeners_.front()->port(); }
    [[nodiscard]] const Persistence& persistence() const { return *persistence_; }
    [[nodiscard]] bool asks_for_key() const { return !service_.options.access.api_keys.empty(); }

    /// Starts up, and serves until `should_stop` returns true, polled ten times a second; then refuses new
    /// requests and lets running ones finish within the drain timeout. After it, the rest are cancelled, then
    /// their connections are broken, and those that react to neither are abandoned. Blocks; returns within
    /// the drain timeout and some seconds once `should_stop` is true.
    [[nodiscard]] ShutdownResult run(const CancelPoll& should_stop, const StartUp& start_up = {});

private:
    Server(const ServerOptions& options, Models& models, std::function<void(std::string_view line)> log);

    bool start(const CancelPoll& should_stop, const StartUp& start_up);
    void become_ready();
    void trim_heap();
    ShutdownResult shut_down(std::vector<std::thread>& serving);
    Status open_exporter();
    Status open_listeners();
    ConnectionHandlers handlers();
    /// Waits for the requests of all listeners. Returns false if some still run.
    bool wait(std::chrono::milliseconds limit);
    void open_batches();
    bool wait_for_batches(std::chrono::milliseconds limit);
    [[nodiscard]] std::size_t requests() const;

    ServerOptions options_;
    Metrics metrics_;
    Service service_;
    std::unique_ptr<tracing::SpanExporter> exporter_; ///< null: none
    Router router_;
    std::unique_ptr<Persistence> persistence_;
    responses::RunningResponses running_responses_;    ///< destroyed before what its threads use
    std::unique_ptr<batch::Batches> batches_;          ///< the same; null: none are stored
    std::vector<std::unique_ptr<Listener>> listeners_; ///< the first is that of `connection`
};

} // namespace etna::server
