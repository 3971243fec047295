#include "server/http/httplib_adapter.hpp"

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
#include <sys/socket.h>

#define CPPHTTPLIB_USE_POLL // descriptors above FD_SETSIZE
#define CPPHTTPLIB_LISTEN_BACKLOG 1024
#include <httplib.h>

namespace etna::server {
namespace {

constexpr std::string_view interim_reply = "HTTP/1.1 100 Continue\r\n\r\n";

/// The minimal request that the library sees. Its parsing of client input differs between versions, so it
/// never sees that. It needs the method only to omit the body of HEAD responses.
std::string stub_request(const RequestHead& head) {
    return fmt::format("{} / {}\r\n{}\r\n", head.request.method == "HEAD" ? "HEAD" : "GET",
                       head.is_http_1_0 ? "HTTP/1.0" : "HTTP/1.1",
                       head.closes_after_it ? "Connection: close\r\n"
                       : head.is_http_1_0   ? "Connection: Keep-Alive\r\n"
                                            : "");
}

/// The stream from which the library reads a request and to which it writes the response.
class Connection final : public httplib::Stream {
public:
    Connection(Socket socket, ReceivedRequest request, std::chrono::milliseconds write_timeout)
        : socket_(std::move(socket)), request_(std::move(request)), unread_(stub_request(request_->head)),
          write_timeout_(write_timeout), may_probe_(!request_->head.is_http_1_0) {}

    bool is_readable() const override { return true; }
    bool is_writable() const override { return !is_broken_ && socket_.peer() != PeerState::gone; }

    ssize_t read(char* into, std::size_t bytes) override {
        const std::size_t count = unread_.copy(into, bytes);
        unread_.erase(0, count);
        return count > 0 ? static_cast<ssize_t>(count) : -1;
    }

    ssize_t write(const char* bytes, std::size_t count) override {
        is_broken_ = is_broken_ || !socket_.write({bytes, count}, write_timeout_);
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
    void close_after_response() { must_close_ = true; }
    [[nodiscard]] bool must_close() const { return must_close_ || is_broken_; }
    void shut_down() { socket_.shut_down(); }

    /// Takes the request, with its memory reservation; may be called once.
    [[nodiscard]] HttpRequest take_request() {
        ReceivedRequest taken = *std::exchange(request_, std::nullopt);
        pipelined_ = std::move(taken.pipelined);
        HttpRequest request = std::move(taken.head.request);
        request.remote_address = socket_.remote_address();
        request.remote_network = socket_.remote_network();
        request.is_client_gone = [this] { return is_client_gone(); };
        summary_ = {.method = request.method,
                    .path = request.path,
                    .headers = request.headers,
                    .remote_address = request.remote_address};
        return request;
    }

    /// The request data for a refusal, before or after take_request().
    [[nodiscard]] const HttpRequest& summary() const { return request_ ? request_->head.request : summary_; }

    /// Charges the response's memory until the connection has sent it.
    void hold(std::shared_ptr<MemoryReservation> memory) { memory_ = std::move(memory); }

    /// Precondition: take_request() was called.
    [[nodiscard]] HttplibAdapter::KeptAlive take_socket() {
        return {.socket = std::move(socket_), .pipelined = std::move(pipelined_)};
    }

private:
    Socket socket_;
    std::optional<ReceivedRequest> request_;
    HttpRequest summary_; ///< without its body; set by take_request()
    std::string unread_;  ///< of the stub request
    std::string pipelined_;
    std::shared_ptr<MemoryReservation> memory_; ///< that of a non-streamed response
    const std::chrono::milliseconds write_timeout_;
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

void set_response(HttpReply reply, const httplib::Request& request, httplib::Response& response) {
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers)
        response.set_header(name, value);
    if (!reply.stream)
        return response.set_content(std::move(reply.body), reply.content_type);
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
        current->close_after_response();
        response.set_content_provider(reply.content_type, provide);
    } else {
        response.set_chunked_content_provider(reply.content_type, provide);
    }
}

Refusal refusal_of(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
        return {.status = 503, .problem = "out of memory for the request"};
    } catch (...) {
        return {.status = 500, .problem = "internal server error"};
    }
}

} // namespace

class HttplibAdapter::Implementation final : private httplib::Server {
public:
    Implementation(const HttplibAdapter::Options& options, Hooks hooks)
        : options_(options), hooks_(std::move(hooks)) {
        new_task_queue = [] { return new Inline; };
        set_tcp_nodelay(true);                   // inherited by accepted sockets
        set_socket_options([](socket_t socket) { // the library's default would share the port
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        });
        set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
            answer(current->take_request(), request, response);
            return HandlerResponse::Handled;
        });
        set_post_routing_handler(
            [this](const auto& request, auto& response) { fix_connection_headers(request, response); });
        set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
            if (response.body.empty())
                refuse({.status = response.status, .problem = "not a valid HTTP request"}, request, response);
        });
        set_exception_handler(
            [this](const auto& request, auto& response, const std::exception_ptr& exception) {
                refuse(refusal_of(exception), request, response);
            });
    }

    Result<int> bind(const std::string& host, int port) {
        errno = 0;
        const int bound = port == 0 ? bind_to_any_port(host) : port;
        if (bound < 0 || (port != 0 && !bind_to_port(host, port))) {
            return Error{ErrorKind::io,
                         fmt::format("cannot listen on {} port {}: {}", host, port,
                                     errno == 0 ? "no such address" : std::strerror(errno)),
                         "choose another --port (0 picks a free one) or --host"};
        }
        return bound;
    }

    void run() {
        is_listening_ = true;
        if (!is_stopping_)
            listen_after_bind();
        is_listening_ = false;
    }

    void stop() {
        is_stopping_ = true;
        while (is_listening_) { // the library can stop only once, and only after it has started
            if (is_running() && !is_library_stopped_.exchange(true))
                httplib::Server::stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    /// If memory runs out outside the hooks, the connection is closed.
    std::optional<KeptAlive> serve(Socket socket, ReceivedRequest request) {
        Connection connection(std::move(socket), std::move(request), options_.write_timeout);
        bool is_kept_alive = false;
        try {
            {
                const std::scoped_lock lock(mutex_);
                active_.insert(&connection);
            }
            current = &connection;
            bool is_closed = false;
            const bool is_served =
                process_request(connection, {}, 0, {}, 0, is_stopping_, is_closed, nullptr);
            is_kept_alive = is_served && !is_closed && !connection.must_close() && !is_stopping_;
        } catch (const std::bad_alloc&) {
            is_kept_alive = false;
        }
        current = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            active_.erase(&connection);
        }
        return is_kept_alive ? std::optional(connection.take_socket()) : std::nullopt;
    }

    void abort() {
        const std::scoped_lock lock(mutex_);
        for (Connection* connection : active_)
            connection->shut_down();
    }

private:
    /// The library's accept thread only hands sockets over.
    struct Inline final : httplib::TaskQueue {
        bool enqueue(std::function<void()> work) override { return work(), true; }
        void shutdown() override {}
    };

    bool process_and_close_socket(socket_t descriptor) override {
        Socket socket(descriptor);
        try {
            if (!is_stopping_)
                hooks_.on_connection(std::move(socket));
        } catch (const std::bad_alloc&) {
            return true; // the connection is closed
        }
        return true;
    }

    void answer(HttpRequest request, const httplib::Request& stub, httplib::Response& response) const {
        HttpReply reply = hooks_.answer(request);
        if (!reply.stream) {
            const auto memory = request.memory;
            if (!request.reserve_memory(reply.body.size()))
                throw std::bad_alloc();
            request = {};
            memory->shrink_to(reply.body.size());
            current->hold(memory);
        }
        set_response(std::move(reply), stub, response);
    }

    /// Responds to a request that the library refused or failed on.
    void refuse(Refusal refusal, const httplib::Request& stub, httplib::Response& response) const {
        current->close_after_response();
        refusal.request = current->summary();
        set_response(hooks_.refuse(refusal), stub, response);
    }

    /// The library sends a duplicate Connection: close, a different idle timeout, and Accept-Ranges.
    void fix_connection_headers(const httplib::Request& stub, httplib::Response& response) const {
        const bool closes = current->must_close() || response.has_header("Connection");
        for (const char* name : {"Connection", "Keep-Alive", "Accept-Ranges"})
            response.headers.erase(name);
        if (closes)
            return response.set_header("Connection", "close");
        // It is the default in HTTP/1.1, but event stream clients check for it.
        const bool is_event_stream =
            response.get_header_value("Content-Type").rfind("text/event-stream", 0) == 0;
        if (stub.version == "HTTP/1.0" || is_event_stream)
            response.set_header("Connection", "keep-alive");
        const auto idle_s = std::chrono::duration_cast<std::chrono::seconds>(options_.idle_timeout);
        response.set_header("Keep-Alive", fmt::format("timeout={}", idle_s.count()));
    }

    const HttplibAdapter::Options options_;
    const Hooks hooks_;
    std::atomic<bool> is_listening_{false};
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_library_stopped_{false};
    std::mutex mutex_;
    std::set<Connection*> active_;
};

HttplibAdapter::HttplibAdapter(const Options& options, Hooks hooks)
    : implementation_(std::make_unique<Implementation>(options, std::move(hooks))) {}

HttplibAdapter::~HttplibAdapter() = default;

Result<int> HttplibAdapter::bind(const std::string& host, int port) {
    return implementation_->bind(host, port);
}

void HttplibAdapter::run() {
    implementation_->run();
}

void HttplibAdapter::stop() {
    implementation_->stop();
}

std::optional<HttplibAdapter::KeptAlive> HttplibAdapter::serve(Socket socket, ReceivedRequest request) {
    return implementation_->serve(std::move(socket), std::move(request));
}

void HttplibAdapter::abort() {
    implementation_->abort();
}

const char* HttplibAdapter::reason_phrase(int status) {
    return httplib::status_message(status);
}

} // namespace etna::server
