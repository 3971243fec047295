#include "server/http/listener.hpp"

#include "server/base/memory_budget.hpp"
#include "server/http/acceptor.hpp"
#include "server/http/connection_poller.hpp"
#include "server/http/exchange.hpp"
#include "server/http/socket.hpp"
#include "server/http/tls.hpp"
#include "server/http/workers.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <set>
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
          exchange_handlers_{.answer = handlers_.answer, .refuse = handlers_.refuse},
          acceptor_([this](Socket socket) { accept(std::move(socket)); }),
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
        ETNA_TRY(port_, acceptor_.bind(options_.host, options_.port));
        return {};
    }

    [[nodiscard]] int port() const { return port_; }

    void run() {
        acceptor_.run();
        poller_->stop();
    }

    void stop() {
        is_stopping_ = true;
        acceptor_.stop();
    }
    bool wait(std::chrono::milliseconds limit) { return workers_.wait(limit); }

    void abort() {
        const std::scoped_lock lock(exchanges_mutex_);
        for (Exchange* const exchange : exchanges_)
            exchange->shut_down();
    }

    void trim_heap() { trimmer_.trim_if_due(memory_->take_freed(), workers_.busy() > 0); }

    [[nodiscard]] std::size_t requests() const { return workers_.busy(); }
    [[nodiscard]] std::size_t connections() const { return poller_->size() + workers_.busy(); }

private:
    struct Received {
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
        HttpRequest& head = request.head.request;
        head.remote_network = socket.remote_network();
        head.remote_address = socket.remote_address();
        const auto priority =
            handlers_.is_health_check(head) ? Workers::Priority::reserved : Workers::Priority::normal;
        const uint64_t client = handlers_.client_of(head);
        // std::function requires copyable captures.
        const auto received = std::make_shared<Received>(std::move(socket), std::move(request));
        if (!workers_.start([this, received] { serve(std::move(*received)); }, priority, client)) {
            refuse_connection(std::move(received->socket),
                              {.status = 503,
                               .problem = "too many concurrent requests",
                               .request = std::move(received->request.head.request)});
        }
    }

    /// Serves one request, on a worker thread. If memory runs out, the connection is closed with its socket.
    void serve(Received received) {
        try {
            Exchange exchange(
                std::move(received.socket), std::move(received.request),
                {.write_timeout = options_.write_timeout, .idle_timeout = options_.idle_timeout},
                exchange_handlers_);
            const bool stays_open = run(exchange);
            trimmer_.note_request_end();
            if (stays_open) {
                auto open = exchange.take_socket();
                poller_->add(std::move(open.socket), open.pipelined);
            }
        } catch (const std::bad_alloc&) {
            return;
        }
    }

    /// Runs an exchange, which abort() can break.
    bool run(Exchange& exchange) {
        {
            const std::scoped_lock lock(exchanges_mutex_);
            exchanges_.insert(&exchange);
        }
        const bool stays_open = exchange.run([this] { return is_stopping_.load(); });
        const std::scoped_lock lock(exchanges_mutex_);
        exchanges_.erase(&exchange);
        return stays_open;
    }

    /// Sends a response without a worker thread, on a closing connection.
    void send_refusal(Socket& socket, const Refusal& refusal) const {
        HttpResponse response = handlers_.refuse(refusal);
        response.status = refusal.status;
        socket.try_write(response_head(response, {.closes = true}) + response.body);
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
    const Exchange::Handlers exchange_handlers_;
    std::atomic<bool> is_stopping_{false};
    std::mutex exchanges_mutex_;
    std::set<Exchange*> exchanges_; ///< those that run, for abort()
    Acceptor acceptor_;
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
