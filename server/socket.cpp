#include "server/socket.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace etna::server {
namespace {

/// Whether `events` came within `timeout`.
bool await(int descriptor, short events, std::chrono::milliseconds timeout) {
    const auto limit = std::chrono::steady_clock::now() + timeout;
    while (true) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
        pollfd wanted = {.fd = descriptor, .events = events, .revents = 0};
        const int ready = ::poll(&wanted, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

bool would_block() {
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

} // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        if (descriptor_ >= 0)
            ::close(descriptor_);
        descriptor_ = other.release();
    }
    return *this;
}

Socket::~Socket() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

int Socket::release() {
    return std::exchange(descriptor_, -1);
}

std::optional<std::size_t> Socket::read(char* into, std::size_t bytes, std::chrono::milliseconds timeout) {
    while (true) {
        const ssize_t count = ::recv(descriptor_, into, bytes, MSG_DONTWAIT);
        if (count >= 0)
            return static_cast<std::size_t>(count);
        if (errno == EINTR)
            continue;
        if (!would_block() || !await(descriptor_, POLLIN, timeout))
            return std::nullopt;
    }
}

bool Socket::write(std::string_view bytes, std::chrono::milliseconds timeout) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno != EINTR && (!would_block() || !await(descriptor_, POLLOUT, timeout))) {
            return false;
        }
    }
    return true;
}

void Socket::try_write(std::string_view bytes) {
    // What did not fit would not be read either.
    [[maybe_unused]] const auto sent =
        ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

PeerState Socket::peer() const {
    pollfd wanted = {.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
    if (::poll(&wanted, 1, 0) <= 0)
        return PeerState::open;
    if ((wanted.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return PeerState::gone;
    return PeerState::half_closed;
}

void Socket::shut_down() {
    ::shutdown(descriptor_, SHUT_RDWR);
}

std::string Socket::remote_address() const {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    std::array<char, NI_MAXHOST> text{};
    if (::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
        return {};
    return text.data();
}

} // namespace etna::server
