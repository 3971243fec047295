#include "server/http/acceptor.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#define CPPHTTPLIB_USE_POLL // descriptors above FD_SETSIZE
#define CPPHTTPLIB_LISTEN_BACKLOG 1024
#include <httplib.h>

namespace etna::server {

class Acceptor::Implementation final : private httplib::Server {
public:
    explicit Implementation(std::function<void(Socket socket)> on_connection)
        : on_connection_(std::move(on_connection)) {
        new_task_queue = [] { return new Inline; };
        set_tcp_nodelay(true);                   // inherited by accepted sockets
        set_socket_options([](socket_t socket) { // the library's default would share the port
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
        });
    }

    ~Implementation() override {
        if (const socket_t unused = svr_sock_.exchange(INVALID_SOCKET); unused != INVALID_SOCKET)
            ::close(unused); // run() was not called: the library closes the socket at its end only
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
                on_connection_(std::move(socket));
        } catch (const std::bad_alloc&) {
            return true; // the connection is closed
        }
        return true;
    }

    const std::function<void(Socket socket)> on_connection_;
    std::atomic<bool> is_listening_{false};
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_library_stopped_{false};
};

Acceptor::Acceptor(std::function<void(Socket socket)> on_connection)
    : implementation_(std::make_unique<Implementation>(std::move(on_connection))) {}

Acceptor::~Acceptor() = default;

Result<int> Acceptor::bind(const std::string& host, int port) {
    return implementation_->bind(host, port);
}

void Acceptor::run() {
    implementation_->run();
}

void Acceptor::stop() {
    implementation_->stop();
}

} // namespace etna::server
