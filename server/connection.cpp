#include "server/connection.hpp"

#include "server/parking.hpp"
#include "server/socket.hpp"
#include "server/tls.hpp"
#include "server/workers.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define CPPHTTPLIB_USE_POLL // descriptors above FD_SETSIZE
#define CPPHTTPLIB_LISTEN_BACKLOG 1024
#define CPPHTTPLIB_HEADER_MAX_COUNT 100
#define CPPHTTPLIB_REQUEST_URI_MAX_LENGTH 2048
#include <httplib.h>

namespace etna::server {
namespace {

constexpr std::string_view interim_reply = "HTTP/1.1 100 Continue\r\n\r\n";

std::string lower_case(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

/// What the library reads requests from and writes answers to: a socket, and what was already read of it.
class Connection final : public httplib::Stream {
public:
    Connection(Socket socket, std::string received, const ConnectionOptions& options)
        : socket_(std::move(socket)), received_(std::move(received)), options_(&options) {}

    bool is_readable() const override { return true; } // read() waits
    bool is_writable() const override { return !is_broken_ && socket_.peer() != PeerState::gone; }

    ssize_t read(char* into, std::size_t bytes) override {
        if (!received_.empty()) {
            const std::size_t count = received_.copy(into, bytes);
            received_.erase(0, count);
            return static_cast<ssize_t>(count);
        }
        const auto count = socket_.read(into, bytes, options_->body_timeout);
        return count ? static_cast<ssize_t>(*count) : -1;
    }

    ssize_t write(const char* bytes, std::size_t count) override {
        is_broken_ = is_broken_ || !socket_.write({bytes, count}, options_->write_timeout);
        return is_broken_ ? -1 : static_cast<ssize_t>(count);
    }

    void get_remote_ip_and_port(std::string& address, int& port) const override {
        address = socket_.remote_address();
        port = 0;
    }
    void get_local_ip_and_port(std::string& /*address*/, int& /*port*/) const override {}
    socket_t socket() const override { return socket_.descriptor(); }

    /// For while an answer is being made. A client that has closed its sending half may have closed all of
    /// it: an interim answer, which clients skip (RFC 9110, 15.2), finds out.
    bool is_client_gone() {
        const PeerState peer = socket_.peer();
        if (peer == PeerState::half_closed && may_probe_) {
            may_probe_ = false;
            is_broken_ = is_broken_ || !socket_.write(interim_reply, std::chrono::milliseconds(0));
        }
        return is_broken_ || peer == PeerState::gone;
    }

    [[nodiscard]] PeerState peer() const { return is_broken_ ? PeerState::gone : socket_.peer(); }
    void forbid_probes() { may_probe_ = false; }
    void close_after_answer() { must_close_ = true; }
    [[nodiscard]] bool must_close() const { return must_close_ || is_broken_; }
    void shut_down() { socket_.shut_down(); }

    /// Gives both away, for the next request.
    [[nodiscard]] Socket take_socket() { return std::move(socket_); }
    [[nodiscard]] std::string take_received() { return std::move(received_); }

private:
    Socket socket_;
    std::string received_;
    const ConnectionOptions* options_; ///< borrowed
    bool is_broken_ = false;
    bool may_probe_ = true;
    bool must_close_ = false;
};

/// The connection whose request this thread answers: the library's handlers are not told.
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

HttpRequest head_of(const httplib::Request& from) {
    HttpRequest request = {.method = from.method,
                           .path = from.path,
                           .headers = {},
                           .body = {},
                           .remote_address = from.remote_addr};
    for (const auto& [name, value] : from.headers) {
        // The library adds these four to what the client sent.
        if (name != "REMOTE_ADDR" && name != "REMOTE_PORT" && name != "LOCAL_ADDR" && name != "LOCAL_PORT")
            request.headers.emplace(lower_case(name), value);
    }
    request.is_client_gone = [] { return current->is_client_gone(); };
    return request;
}

void put(HttpReply reply, const httplib::Request& request, httplib::Response& into) {
    into.status = reply.status;
    for (const auto& [name, value] : reply.headers)
        into.set_header(name, value);
    if (current->must_close())
        into.set_header("Connection", "close");
    if (!reply.stream)
        return into.set_content(std::move(reply.body), reply.content_type);
    const auto provide = [stream = std::move(reply.stream)](std::size_t /*offset*/, httplib::DataSink& sink) {
        Writer writer(sink);
        stream(writer);
        sink.done();
        return true;
    };
    if (request.version == "HTTP/1.0") { // knows no chunks: the end of the connection is the end of the body
        current->close_after_answer();
        into.set_content_provider(reply.content_type, provide);
    } else {
        into.set_chunked_content_provider(reply.content_type, provide);
    }
}

bool has_body(const httplib::Request& request) {
    return request.has_header("Transfer-Encoding") || request.get_header_value_u64("Content-Length") > 0;
}

} // namespace

class Listener::Implementation final : private httplib::Server {
public:
    Implementation(const ConnectionOptions& options, ConnectionHandlers handlers)
        : options_(options), handlers_(std::move(handlers)), workers_(options.handlers_max) {
        new_task_queue = [] { return new Inline; };
        set_tcp_nodelay(true);                   // sockets that are accepted inherit it
        set_socket_options([](socket_t socket) { // the library's own would share the port with another server
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        });
        set_keep_alive_max_count(std::numeric_limits<std::size_t>::max());
        set_pre_routing_handler(
            [this](const auto& request, auto& response) { return without_body(request, response); });
        const auto with = [this](const auto& request, auto& response, const auto& read) {
            with_body(request, response, read);
        };
        constexpr const char* every_path = R"([\s\S]*)";
        Post(every_path, with);
        Put(every_path, with);
        Patch(every_path, with);
        Delete(every_path, with);
        set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
            if (!response.body.empty())
                return;
            // What the library itself refuses: its body has not been read, and must not be taken for a
            // request.
            current->close_after_answer();
            put(handlers_.refuse(response.status, "this is no HTTP request that can be served"), request,
                response);
        });
        set_exception_handler([this](const auto& request, auto& response, const std::exception_ptr&) {
            current->close_after_answer();
            put(handlers_.refuse(500, "something went wrong in the server"), request, response);
        });
    }

    Status open() {
        if (!options_.tls_certificate.empty() || !options_.tls_key.empty()) {
            ETNA_TRY(tls_, TlsContext::load(options_.tls_certificate, options_.tls_key));
        }
        const Parking::Options parking = {.header_bytes_max = options_.header_bytes_max,
                                          .header_timeout = options_.header_timeout,
                                          .idle_timeout = options_.idle_timeout};
        ETNA_TRY(parking_,
                 Parking::create(
                     parking,
                     [this](Socket socket, std::string head) { start(std::move(socket), std::move(head)); },
                     [this](Socket socket, int status) {
                         send_away(socket, status,
                                   status == 408 ? "the head of the request took too long"
                                                 : "the head of the request is too long");
                     }));
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
        listen_after_bind();
        parking_->stop();
        workers_.wait();
    }

    void stop() {
        is_stopping_ = true;
        httplib::Server::stop();
    }

    void abort() {
        const std::scoped_lock lock(mutex_);
        for (Connection* connection : at_work_)
            connection->shut_down();
    }

    [[nodiscard]] std::size_t requests() const { return workers_.busy(); }
    [[nodiscard]] std::size_t connections() const { return parking_->size() + workers_.busy(); }

private:
    /// The library's thread that accepts only hands sockets on.
    struct Inline final : httplib::TaskQueue {
        bool enqueue(std::function<void()> work) override { return work(), true; }
        void shutdown() override {}
    };

    bool process_and_close_socket(socket_t descriptor) override {
        Socket socket(descriptor, tls_ ? tls_->accept(descriptor) : nullptr);
        if (connections() >= options_.connections_max) {
            send_away(socket, 503, "too many connections");
        } else if (!is_stopping_) {
            parking_->park(std::move(socket), {});
        }
        return true;
    }

    void start(Socket socket, std::string head) {
        // std::function wants to copy what it holds.
        const auto connection = std::make_shared<Connection>(std::move(socket), std::move(head), options_);
        if (!workers_.start([this, connection] { serve(*connection); })) {
            Socket refused = connection->take_socket();
            send_away(refused, 503, "too many requests at work");
        }
    }

    /// One request and its answer, on a worker's thread.
    void serve(Connection& connection) {
        {
            const std::scoped_lock lock(mutex_);
            at_work_.insert(&connection);
        }
        current = &connection;
        std::string address;
        int port = 0;
        connection.get_remote_ip_and_port(address, port);
        bool is_closed = false;
        const bool is_served =
            process_request(connection, address, port, {}, 0, is_stopping_, is_closed, nullptr);
        current = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            at_work_.erase(&connection);
        }
        if (is_served && !is_closed && !connection.must_close() && !is_stopping_)
            parking_->park(connection.take_socket(), connection.take_received());
    }

    /// What needs no body is answered before the library looks for handlers.
    HandlerResponse without_body(const httplib::Request& request, httplib::Response& response) {
        if (request.version == "HTTP/1.0")
            current->forbid_probes();
        if (request.get_header_value_count("Host") > 1) {
            current->close_after_answer();
            put(handlers_.refuse(400, "the request has two Host headers"), request, response);
            return HandlerResponse::Handled;
        }
        const auto& method = request.method;
        if (method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE")
            return HandlerResponse::Unhandled;
        if (has_body(request)) // nobody reads it, so nothing after it can be understood
            current->close_after_answer();
        put(handlers_.answer(head_of(request)), request, response);
        return HandlerResponse::Handled;
    }

    void with_body(const httplib::Request& from, httplib::Response& response,
                   const httplib::ContentReader& read) {
        HttpRequest request = head_of(from);
        const std::size_t bytes_max = handlers_.body_bytes_max(request);
        bool fits = from.get_header_value_u64("Content-Length") <= bytes_max;
        const bool is_whole = fits && read([&](const char* bytes, std::size_t count) {
                                  fits = request.body.size() + count <= bytes_max;
                                  if (fits)
                                      request.body.append(bytes, count);
                                  return fits;
                              });
        if (is_whole)
            return put(handlers_.answer(request), from, response);
        current->close_after_answer(); // where the next request begins is not known
        put(fits ? handlers_.refuse(400, "the body of the request did not arrive whole")
                 : handlers_.refuse(
                       413,
                       fmt::format("the body is longer than the {} bytes that are allowed here", bytes_max)),
            from, response);
    }

    /// An answer without a thread, on a connection that ends.
    void send_away(Socket& socket, int status, std::string_view problem) {
        const HttpReply reply = handlers_.refuse(status, problem);
        std::string text =
            fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
                        status, httplib::status_message(status), reply.content_type, reply.body.size());
        for (const auto& [name, value] : reply.headers)
            text += fmt::format("{}: {}\r\n", name, value);
        socket.try_write(text + "\r\n" + reply.body);
    }

    const ConnectionOptions options_;
    const ConnectionHandlers handlers_;
    int port_ = 0;
    std::atomic<bool> is_stopping_{false};
    std::mutex mutex_;
    std::set<Connection*> at_work_;
    std::unique_ptr<TlsContext> tls_; ///< null: no TLS; goes after all connections
    std::unique_ptr<Parking> parking_;
    Workers workers_; ///< goes first: its threads park
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

void Listener::abort() {
    implementation_->abort();
}

std::size_t Listener::connections() const {
    return implementation_->connections();
}

std::size_t Listener::requests() const {
    return implementation_->requests();
}

} // namespace etna::server
