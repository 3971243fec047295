#include "server/http/connection.hpp"

#include "server/http/parking.hpp"
#include "server/http/socket.hpp"
#include "server/http/tls.hpp"
#include "server/http/workers.hpp"
#include "server/memory_tidy.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define CPPHTTPLIB_USE_POLL // descriptors above FD_SETSIZE
#define CPPHTTPLIB_LISTEN_BACKLOG 1024
#include <httplib.h>

namespace etna::server {
namespace {

constexpr std::string_view interim_reply = "HTTP/1.1 100 Continue\r\n\r\n";

/// Descriptors reserved for uses other than connections: files, models, the store.
constexpr std::size_t other_descriptors = 128;

/// The minimal request that the library sees. Its parsing of client input differs between versions, so it
/// never sees that. It needs the method only to omit the body of HEAD responses.
std::string line_for_library(const RequestHead& head) {
    return fmt::format("{} / {}\r\n{}\r\n", head.request.method == "HEAD" ? "HEAD" : "GET",
                       head.is_http_1_0 ? "HTTP/1.0" : "HTTP/1.1",
                       head.closes_after_it ? "Connection: close\r\n"
                       : head.is_http_1_0   ? "Connection: Keep-Alive\r\n"
                                            : "");
}

/// The stream from which the library reads a request and to which it writes the response.
class Connection final : public httplib::Stream {
public:
    Connection(Socket socket, Arrival arrival, const ConnectionOptions& options)
        : socket_(std::move(socket)), arrival_(std::move(arrival)), line_(line_for_library(arrival_->head)),
          options_(&options), may_probe_(!arrival_->head.is_http_1_0) {}

    bool is_readable() const override { return true; }
    bool is_writable() const override { return !is_broken_ && socket_.peer() != PeerState::gone; }

    ssize_t read(char* into, std::size_t bytes) override {
        const std::size_t count = line_.copy(into, bytes);
        line_.erase(0, count);
        return count > 0 ? static_cast<ssize_t>(count) : -1;
    }

    ssize_t write(const char* bytes, std::size_t count) override {
        is_broken_ = is_broken_ || !socket_.write({bytes, count}, options_->write_timeout);
        return is_broken_ ? -1 : static_cast<ssize_t>(count);
    }

    void get_remote_ip_and_port(std::string& /*address*/, int& /*port*/) const override {}
    void get_local_ip_and_port(std::string& /*address*/, int& /*port*/) const override {}
    socket_t socket() const override { return socket_.descriptor(); }

    /// For use while a response is generated. A client that has closed its sending half may have closed both:
    /// an interim response, which clients skip (RFC 9110, 15.2), reveals it.
    bool is_client_gone() {
        const PeerState peer = socket_.peer();
        if (peer == PeerState::half_closed && may_probe_) {
            may_probe_ = false;
            is_broken_ = is_broken_ || !socket_.write(interim_reply, std::chrono::milliseconds(0));
        }
        return is_broken_ || peer == PeerState::gone;
    }

    [[nodiscard]] PeerState peer() const { return is_broken_ ? PeerState::gone : socket_.peer(); }
    void close_after_answer() { must_close_ = true; }
    [[nodiscard]] bool must_close() const { return must_close_ || is_broken_; }
    void shut_down() { socket_.shut_down(); }

    /// Takes the request, with its memory share; may be called once.
    [[nodiscard]] Arrival take_arrival() {
        Arrival taken = *std::exchange(arrival_, std::nullopt);
        rest_ = std::move(taken.rest);
        taken.head.request.remote_address = socket_.remote_address();
        taken.head.request.remote_network = socket_.remote_network();
        taken.head.request.is_client_gone = [this] { return is_client_gone(); };
        known_ = {.method = taken.head.request.method,
                  .path = taken.head.request.path,
                  .headers = taken.head.request.headers,
                  .remote_address = taken.head.request.remote_address};
        return taken;
    }

    /// The request data for a refusal, before or after take_arrival().
    [[nodiscard]] const HttpRequest& known() const { return arrival_ ? arrival_->head.request : known_; }

    /// Charges the response's memory until the connection has sent it.
    void hold(std::shared_ptr<MemoryShare> memory) { memory_ = std::move(memory); }

    /// The bytes after the request; valid after take_arrival().
    [[nodiscard]] const std::string& rest() const { return rest_; }
    [[nodiscard]] Socket take_socket() { return std::move(socket_); }

private:
    Socket socket_;
    std::optional<Arrival> arrival_;
    HttpRequest known_; ///< without its body; set by take_arrival()
    std::string line_;
    std::string rest_;
    std::shared_ptr<MemoryShare> memory_; ///< the share of a non-streamed response
    const ConnectionOptions* options_;    ///< borrowed
    bool is_broken_ = false;
    bool may_probe_;
    bool must_close_ = false;
};

/// The connection whose request this thread serves; the library does not pass it to handlers.
thread_local Connection* current = nullptr;

class Writer final : public HttpWriter {
public:
    explicit Writer(httplib::DataSink& sink) : sink_(&sink) {}

    bool write(std::string_view bytes) override {
        return bytes.empty() || sink_->write(bytes.data(), bytes.size());
    }
    PeerState peer() override { return current->peer(); }

private:
    httplib::DataSink* sink_;
};

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

void put(HttpReply reply, const httplib::Request& request, httplib::Response& into) {
    into.status = reply.status;
    for (const auto& [name, value] : reply.headers)
        into.set_header(name, value);
    if (!reply.stream)
        return into.set_content(std::move(reply.body), reply.content_type);
    const auto provide = [stream = std::move(reply.stream)](std::size_t /*offset*/, httplib::DataSink& sink) {
        try {
            Writer writer(sink);
            stream(writer);
        } catch (const std::exception&) {
            return false; // the library would propagate it; the client sees a truncated body
        }
        sink.done();
        return true;
    };
    if (request.version == "HTTP/1.0") { // no chunked encoding: closing the connection ends the body
        current->close_after_answer();
        into.set_content_provider(reply.content_type, provide);
    } else {
        into.set_chunked_content_provider(reply.content_type, provide);
    }
}

} // namespace

class Listener::Implementation final : private httplib::Server {
public:
    Implementation(const ConnectionOptions& options, ConnectionHandlers handlers)
        : options_(within_descriptors(options)), handlers_(std::move(handlers)),
          memory_(std::make_shared<MemoryTotal>(options.bodies_bytes_max)),
          workers_(options.handlers_max, options.vital_handlers_max) {
        new_task_queue = [] { return new Inline; };
        set_tcp_nodelay(true);                   // inherited by accepted sockets
        set_socket_options([](socket_t socket) { // the library's default would share the port
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        });
        set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
            answer(current->take_arrival(), request, response);
            return HandlerResponse::Handled;
        });
        set_post_routing_handler([this](const auto& request, auto& response) { finish(request, response); });
        set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
            if (response.body.empty()) {
                refuse({.status = response.status, .problem = "this is no HTTP request that can be served"},
                       request, response);
            }
        });
        set_exception_handler([this](const auto& request, auto& response, const std::exception_ptr& what) {
            refuse(refusal_after(what), request, response);
        });
    }

    Status open() {
        if (!options_.tls_certificate.empty() || !options_.tls_key.empty()) {
            ETNA_TRY(tls_, TlsContext::load(options_.tls_certificate, options_.tls_key));
        }
        Parking::Options parking = {.bounds = {.header_bytes_max = options_.header_bytes_max,
                                               .body_bytes_max = handlers_.body_bytes_max},
                                    .memory = memory_,
                                    .header_timeout = options_.header_timeout,
                                    .idle_timeout = options_.idle_timeout,
                                    .body_timeout = options_.body_timeout,
                                    .body_bytes_per_s = options_.body_bytes_per_s};
        ETNA_TRY(
            parking_,
            Parking::create(
                std::move(parking),
                [this](Socket socket, Arrival arrival) { start(std::move(socket), std::move(arrival)); },
                [this](Socket socket, const Refusal& refusal) { turn_away(std::move(socket), refusal); }));
        errno = 0;
        port_ = options_.port == 0 ? bind_to_any_port(options_.host) : options_.port;
        if (port_ < 0 || (options_.port != 0 && !bind_to_port(options_.host, options_.port))) {
            return Error{ErrorKind::io,
                         fmt::format("cannot listen on {} port {}: {}", options_.host, options_.port,
                                     errno == 0 ? "no such address" : std::strerror(errno)),
                         "choose another --port (0 picks one that is free) or --host"};
        }
        return {};
    }

    [[nodiscard]] int port() const { return port_; }

    void run() {
        is_listening_ = true;
        if (!is_stopping_)
            listen_after_bind();
        is_listening_ = false;
        parking_->stop();
    }

    bool wait(std::chrono::milliseconds limit) { return workers_.wait(limit); }

    void stop() {
        is_stopping_ = true;
        while (is_listening_) { // the library can stop only once, and only after it has started
            if (is_running() && !is_told_to_stop_.exchange(true))
                httplib::Server::stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    void abort() {
        const std::scoped_lock lock(mutex_);
        for (Connection* connection : at_work_)
            connection->shut_down();
    }

    void tidy() { tidy_.tidy(memory_->take_given_back(), workers_.busy() > 0); }

    [[nodiscard]] std::size_t requests() const { return workers_.busy(); }
    [[nodiscard]] std::size_t connections() const { return parking_->size() + workers_.busy(); }

private:
    /// The library's accept thread only hands sockets over.
    struct Inline final : httplib::TaskQueue {
        bool enqueue(std::function<void()> work) override { return work(), true; }
        void shutdown() override {}
    };

    bool process_and_close_socket(socket_t descriptor) override {
        Socket socket(descriptor);
        try {
            if (tls_)
                socket.secure(tls_->accept(descriptor));
            if (!has_place(socket)) {
                tell(socket, {.status = 503, .problem = "too many connections"});
            } else if (!is_stopping_) {
                parking_->park(std::move(socket), {});
            }
        } catch (const std::bad_alloc&) {
            return true; // the connection is closed
        }
        return true;
    }

    /// Makes room for a connection by evicting the longest-idle one if necessary.
    bool has_place(const Socket& socket) {
        const std::string network = socket.remote_network();
        if (parking_->size_of(network) >= options_.connections_per_address_max)
            return parking_->displace(network);
        return connections() < options_.connections_max || parking_->displace();
    }

    void start(Socket socket, Arrival arrival) {
        const auto rank =
            handlers_.is_vital(arrival.head.request) ? Workers::Rank::vital : Workers::Rank::common;
        // std::function requires copyable captures.
        const auto connection = std::make_shared<Connection>(std::move(socket), std::move(arrival), options_);
        if (!workers_.start([this, connection] { serve(*connection); }, rank)) {
            turn_away(
                connection->take_socket(),
                {.status = 503, .problem = "too many requests at work", .request = connection->known()});
        }
    }

    /// Serves one request, on a worker thread. If memory runs out outside the handlers, the connection is
    /// closed.
    void serve(Connection& connection) {
        bool goes_on = false;
        try {
            {
                const std::scoped_lock lock(mutex_);
                at_work_.insert(&connection);
            }
            current = &connection;
            bool is_closed = false;
            const bool is_served =
                process_request(connection, {}, 0, {}, 0, is_stopping_, is_closed, nullptr);
            goes_on = is_served && !is_closed && !connection.must_close() && !is_stopping_;
        } catch (const std::bad_alloc&) {
            connection.close_after_answer();
        }
        current = nullptr;
        connection.hold(nullptr);
        tidy_.note_answer();
        {
            const std::scoped_lock lock(mutex_);
            at_work_.erase(&connection);
        }
        try {
            if (goes_on)
                parking_->park(connection.take_socket(), connection.rest());
        } catch (const std::bad_alloc&) {
            return; // closed with its socket
        }
    }

    /// The request's memory is charged until its response exists; a non-streamed response's until it is sent.
    void answer(Arrival arrival, const httplib::Request& request, httplib::Response& response) const {
        HttpReply reply = handlers_.answer(arrival.head.request);
        if (!reply.stream) {
            const auto memory = arrival.head.request.memory;
            if (!arrival.head.request.reserve_memory(reply.body.size()))
                throw std::bad_alloc();
            arrival.head.request = {};
            memory->shrink_to(reply.body.size());
            current->hold(memory);
        }
        put(std::move(reply), request, response);
    }

    static Refusal refusal_after(const std::exception_ptr& what) {
        try {
            std::rethrow_exception(what);
        } catch (const std::bad_alloc&) {
            return {.status = 503, .problem = "there is no memory for the request"};
        } catch (...) {
            return {.status = 500, .problem = "something went wrong in the server"};
        }
    }

    /// Responds to a request that the library refused or failed on.
    void refuse(Refusal refusal, const httplib::Request& request, httplib::Response& response) const {
        current->close_after_answer();
        refusal.request = current->known();
        put(handlers_.refuse(refusal), request, response);
    }

    /// Fixes the response's connection headers: the library sends a duplicate Connection: close, a different
    /// idle timeout, and Accept-Ranges.
    void finish(const httplib::Request& request, httplib::Response& response) const {
        const bool closes = current->must_close() || response.has_header("Connection");
        for (const char* name : {"Connection", "Keep-Alive", "Accept-Ranges"})
            response.headers.erase(name);
        if (closes)
            return response.set_header("Connection", "close");
        // It is the default in HTTP/1.1, but event stream clients check for it.
        const bool is_event_stream =
            response.get_header_value("Content-Type").rfind("text/event-stream", 0) == 0;
        if (request.version == "HTTP/1.0" || is_event_stream)
            response.set_header("Connection", "keep-alive");
        const auto idle_s = std::chrono::duration_cast<std::chrono::seconds>(options_.idle_timeout);
        response.set_header("Keep-Alive", fmt::format("timeout={}", idle_s.count()));
    }

    /// Sends a response without a worker thread, on a closing connection.
    void tell(Socket& socket, const Refusal& refusal) const {
        const HttpReply reply = handlers_.refuse(refusal);
        std::string text = fmt::format(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            refusal.status, httplib::status_message(refusal.status), reply.content_type, reply.body.size());
        for (const auto& [name, value] : reply.headers)
            text += fmt::format("{}: {}\r\n", name, value);
        socket.try_write(text + "\r\n" + reply.body);
    }

    void turn_away(Socket socket, Refusal refusal) {
        refusal.request.remote_address = socket.remote_address();
        tell(socket, refusal);
        parking_->see_off(std::move(socket));
    }

    const ConnectionOptions options_;
    const ConnectionHandlers handlers_;
    const std::shared_ptr<MemoryTotal> memory_; ///< the budget of all requests
    int port_ = 0;
    MemoryTidy tidy_;
    std::atomic<bool> is_listening_{false};
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_told_to_stop_{false};
    std::mutex mutex_;
    std::set<Connection*> at_work_;
    std::unique_ptr<TlsContext> tls_; ///< null: no TLS; destroyed after all connections
    std::unique_ptr<Parking> parking_;
    Workers workers_; ///< destroyed first: its threads park connections
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

void Listener::tidy() {
    implementation_->tidy();
}

std::size_t Listener::connections() const {
    return implementation_->connections();
}

std::size_t Listener::requests() const {
    return implementation_->requests();
}

} // namespace etna::server
