#pragma once

#include "core/base/result.hpp"
#include "server/connection.hpp"
#include "server/keeping.hpp"
#include "server/router.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace etna::server {

struct ServerOptions {
    ConnectionOptions connection;
    ServiceOptions service;
    std::chrono::milliseconds drain_timeout{30'000};
    KeepingOptions keeping = {};
};

/// How a server ended.
enum class ServerEnd : uint8_t {
    whole,
    /// Threads are still at work on requests or on loading a model: to destroy the server or the models waits
    /// for them, and to end the process does not.
    abandoned,
};

/// The HTTP server over a set of models. It never ends the process and prints nothing: what is to be told
/// goes to `log`.
class Server {
public:
    /// Opens what is kept, and binds the address; nothing is answered before run(). `models` is borrowed.
    /// Blocking: waits for another process that has the file and is about to end. Errors: those of
    /// memory::Store::open(), Seal::open() and Listener::open().
    static Result<std::unique_ptr<Server>> open(const ServerOptions& options, Models& models,
                                                std::function<void(std::string_view line)> log);

    [[nodiscard]] int port() const { return listener_->port(); }
    [[nodiscard]] const Keeping& keeping() const { return *keeping_; }
    [[nodiscard]] bool asks_for_key() const { return !service_.options.access.api_keys.empty(); }

    /// Serves until `should_stop` is true, which is asked ten times a second; then refuses new requests, lets
    /// those at work finish within the drain timeout, and ends the rest: they are told, then their
    /// connections are broken, and those that do neither heed are given up on. Blocking; the drain timeout
    /// and some seconds bound it once `should_stop` is true.
    [[nodiscard]] ServerEnd run(const std::function<bool()>& should_stop);

private:
    Server(const ServerOptions& options, Models& models, std::function<void(std::string_view line)> log);

    ServerOptions options_;
    Metrics metrics_;
    Service service_;
    Router router_;
    std::unique_ptr<Keeping> keeping_; ///< ends before what its threads use
    std::unique_ptr<Listener> listener_;
};

} // namespace etna::server
