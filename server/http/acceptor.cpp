#include "server/http/acceptor.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace etna::server {
namespace {

constexpr int backlog = 1024; ///< connections that wait to be accepted
constexpr int retry_ms = 10;  ///< after the system ran out of descriptors or memory

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

void set(int descriptor, int level, int option, int value) {
    ::setsockopt(descriptor, level, option, &value, sizeof(value));
}

/// Returns the addresses of a host, or why there are none.
Result<Addresses> resolve(const std::string& host, int port) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (status != 0)
        return Error{ErrorKind::io, status == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(status)};
    return Addresses(found, &freeaddrinfo);
}

/// Returns a listening descriptor; -1 with errno set if there is none. Accepted sockets inherit TCP_NODELAY.
int listen_on(const addrinfo& address) {
    const int descriptor = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -1;
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    if (address.ai_family == AF_INET6)
        set(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0); // "::" also takes IPv4
    if (::bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 && ::listen(descriptor, backlog) == 0)
        return descriptor;
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    return -1;
}

int bound_port(int descriptor) {
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    std::array<char, NI_MAXSERV> port = {};
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const bool is_known = ::getsockname(descriptor, any, &size) == 0 &&
                          ::getnameinfo(any, size, nullptr, 0, port.data(), port.size(), NI_NUMERICSERV) == 0;
    return is_known ? std::atoi(port.data()) : 0;
}

bool is_out_of_resources(int reason) {
    return reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
}

} // namespace

Acceptor::Acceptor(std::function<void(Socket socket)> on_connection)
    : on_connection_(std::move(on_connection)), stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Acceptor::~Acceptor() {
    close_listening();
    if (stop_event_ >= 0)
        ::close(stop_event_);
}

Result<int> Acceptor::bind(const std::string& host, int port) {
    const auto failed = [&](const std::string& reason) {
        return Error{ErrorKind::io, fmt::format("cannot listen on {} port {}: {}", host, port, reason),
                     "choose another --port (0 picks a free one) or --host"};
    };
    if (stop_event_ < 0)
        return failed("the system has no free descriptor");
    const auto addresses = resolve(host, port);
    if (!addresses)
        return failed(addresses.error().message);
    for (const addrinfo* one = addresses->get(); one != nullptr && listening_ < 0; one = one->ai_next)
        listening_ = listen_on(*one);
    if (listening_ < 0)
        return failed(std::strerror(errno));
    return bound_port(listening_);
}

void Acceptor::run() {
    std::array<pollfd, 2> waiting = {pollfd{listening_, POLLIN, 0}, pollfd{stop_event_, POLLIN, 0}};
    while (!is_stopping_) {
        if (::poll(waiting.data(), waiting.size(), -1) > 0 && waiting[0].revents != 0)
            accept_one();
    }
    close_listening();
}

void Acceptor::accept_one() {
    const int descriptor = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) { // others, such as ECONNABORTED, concern the connection alone
        if (is_out_of_resources(errno))
            wait_for_resources();
        return;
    }
    Socket socket(descriptor);
    try {
        if (!is_stopping_)
            on_connection_(std::move(socket));
    } catch (const std::bad_alloc&) {
        return; // the connection is closed
    }
}

void Acceptor::wait_for_resources() const {
    pollfd stopped = {stop_event_, POLLIN, 0};
    ::poll(&stopped, 1, retry_ms);
}

void Acceptor::stop() {
    is_stopping_ = true;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_event_, &one, sizeof(one)); // it cannot be full
}

void Acceptor::close_listening() {
    if (listening_ >= 0)
        ::close(std::exchange(listening_, -1));
}

} // namespace etna::server
