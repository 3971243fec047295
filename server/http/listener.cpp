#include "server/http/listener.hpp"

#include "server/http/connection_poller.hpp"
#include "server/http/httplib_adapter.hpp"
#include "server/http/memory_budget.hpp"
#include "server/http/socket.hpp"
#include "server/http/tls.hpp"
#include "server/http/workers.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

namespace etna::server {
namespace {

/// Descriptors reserved for uses other than connections: files, models, the store.
constexpr std::size_t other_descriptors = 128;

/// Limits connections to the available descriptors: a connection that cannot be accepted cannot replace an
/// idle one.
ConnectionOptions within_descriptors(ConnectionOptions options) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const auto all = static_cast<std::size_t>(limit.rlim_cur);
        options.connections_max =
            std::min(options.connections_max, all - std::min(all / 2, other_descriptors));
    }
    return options;
}

} // namespace

class Listener::Implementation {
public:
    Implementation(const ConnectionOptions& options, ConnectionHandlers handlers)
        : options_(within_descriptors(options)), handlers_(std::move(handlers)),
          memory_(options.memory != nullptr ? options.memory
                                            : std::make_shared<MemoryBudget>(options.bodies_bytes_max)),
          adapter_({.write_timeout = options.write_timeout, .idle_timeout = options.idle_timeout},
                   {.on_connection = [this](Socket socket) { accept(std::move(socket)); },
                    .answer = handlers_.answer,
                    .refuse = handlers_.refuse}),
          workers_(options.handlers_max, options.reserved_handlers_max) {}

    Status open() {
        if (!options_.tls_certificate.empty() || !options_.tls_key.empty()) {
            ETNA_TRY(tls_, TlsContext::load(options_.tls_certificate, options_.tls_key));
        }
        ETNA_TRY(poller_, ConnectionPoller::create(
                              {.limits = {.header_bytes_max = options_.header_bytes_max,
                                          .body_bytes_max = handlers_.body_bytes_max},
                               .memory = memory_,
                               .header_timeout = options_.header_timeout,
                               .idle_timeout = options_.idle_timeout,
                               .body_timeout = options_.body_timeout,
                               .body_bytes_per_s = options_.body_bytes_per_s},
                              [this](Socket socket, ReceivedRequest request) {
                                  start(std::move(socket), std::move(request));
                              },
                              [this](Socket socket, const Refusal& refusal) {
                                  refuse_connection(std::move(socket), refusal);
                              }));
        ETNA_TRY(port_, adapter_.bind(options_.host, options_.port));
        return {};
    }

    [[nodiscard]] int port() const { return port_; }

    void run() {
        adapter_.run();
        poller_->stop();
    }

    void stop() { adapter_.stop(); }
    bool wait(std::chrono::milliseconds limit) { return workers_.wait(limit); }
    void abort() { adapter_.abort(); }
    void trim_heap() { trimmer_.trim_if_due(memory_->take_freed(), workers_.busy() > 0); }

    [[nodiscard]] std::size_t requests() const { return workers_.busy(); }
    [[nodiscard]] std::size_t connections() const { return poller_->size() + workers_.busy(); }

private:
    struct Exchange {
        Socket socket;
        ReceivedRequest request;
    };

    void accept(Socket socket) {
        if (tls_)
            socket.secure(tls_->accept(socket.descriptor()));
        if (has_room(socket)) {
            poller_->add(std::move(socket), {});
        } else {
            send_refusal(socket, {.status = 503, .problem = "too many connections"});
        }
    }

    /// Makes room for a connection by evicting the longest-idle one if necessary.
    bool has_room(const Socket& socket) {
        const std::string network = socket.remote_network();
        if (poller_->size_of(network) >= options_.connections_per_address_max)
            return poller_->evict_idle(network);
        return connections() < options_.connections_max || poller_->evict_idle();
    }

    void start(Socket socket, ReceivedRequest request) {
        const auto priority = handlers_.is_health_check(request.head.request) ? Workers::Priority::reserved
                                                                              : Workers::Priority::normal;
        // std::function requires copyable captures.
        const auto exchange = std::make_shared<Exchange>(std::move(socket), std::move(request));
        if (!workers_.start([this, exchange] { serve(std::move(*exchange)); }, priority)) {
            refuse_connection(std::move(exchange->socket),
                              {.status = 503,
                               .problem = "too many concurrent requests",
                               .request = std::move(exchange->request.head.request)});
        }
    }

    /// Serves one request, on a worker thread.
    void serve(Exchange exchange) {
        auto kept_alive = adapter_.serve(std::move(exchange.socket), std::move(exchange.request));
        trimmer_.note_request_end();
        try {
            if (kept_alive)
                poller_->add(std::move(kept_alive->socket), kept_alive->pipelined);
        } catch (const std::bad_alloc&) {
            return; // closed with its socket
        }
    }

    /// Sends a response without a worker thread, on a closing connection.
    void send_refusal(Socket& socket, const Refusal& refusal) const {
        const HttpReply reply = handlers_.refuse(refusal);
        std::string text =
            fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
                        refusal.status, HttplibAdapter::reason_phrase(refusal.status), reply.content_type,
                        reply.body.size());
        for (const auto& [name, value] : reply.headers)
            text += fmt::format("{}: {}\r\n", name, value);
        socket.try_write(text + "\r\n" + reply.body);
    }

    void refuse_connection(Socket socket, Refusal refusal) {
        refusal.request.remote_address = socket.remote_address();
        send_refusal(socket, refusal);
        poller_->close_gracefully(std::move(socket));
    }

    const ConnectionOptions options_;
    const ConnectionHandlers handlers_;
    const std::shared_ptr<MemoryBudget> memory_; ///< the budget of all requests
    int port_ = 0;
    HeapTrimmer trimmer_;
    std::unique_ptr<TlsContext> tls_; ///< null: no TLS; destroyed after all connections
    HttplibAdapter adapter_;
    std::unique_ptr<ConnectionPoller> poller_;
    Workers workers_; ///< destroyed first: its threads add connections to the poller
};

Listener::Listener(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::open(const ConnectionOptions& options,
                                                 ConnectionHandlers handlers) {
    auto implementation = std::make_unique<Implementation>(options, std::move(handlers));
    ETNA_CHECK(implementation->open());
    return std::unique_ptr<Listener>(new Listener(std::move(implementation)));
}

int Listener::port() const {
    return implementation_->port();
}

void Listener::run() {
    implementation_->run();
}

void Listener::stop() {
    implementation_->stop();
}

bool Listener::wait(std::chrono::milliseconds limit) {
    return implementation_->wait(limit);
}

void Listener::abort() {
    implementation_->abort();
}

void Listener::trim_heap() {
    implementation_->trim_heap();
}

std::size_t Listener::connections() const {
    return implementation_->connections();
}

std::size_t Listener::requests() const {
    return implementation_->requests();
}

} // namespace etna::server
