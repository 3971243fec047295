#include "server/http/socket.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace etna::server {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Transfer::Outcome;

/// Blocks until the descriptor is ready for `outcome`; returns false at `limit`.
bool await(int descriptor, Outcome outcome, Clock::time_point limit) {
    if (outcome != Outcome::needs_input && outcome != Outcome::needs_output)
        return false;
    const short events = outcome == Outcome::needs_input ? POLLIN : POLLOUT;
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now());
        pollfd poll = {.fd = descriptor, .events = events, .revents = 0};
        const int ready = ::poll(&poll, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

/// Converts a system call's result; `when_full` is the outcome if it would have blocked.
Transfer transfer_of(ssize_t count, Outcome when_full) {
    if (count > 0)
        return {.outcome = Outcome::moved, .bytes = static_cast<std::size_t>(count)};
    if (count == 0)
        return {.outcome = Outcome::ended};
    return {.outcome = errno == EAGAIN || errno == EWOULDBLOCK ? when_full : Outcome::broken};
}

} // namespace

Transfer receive_from(int descriptor, char* into, std::size_t count) {
    ssize_t received = -1;
    do {
        received = ::recv(descriptor, into, count, MSG_DONTWAIT);
    } while (received < 0 && errno == EINTR);
    return transfer_of(received, Outcome::needs_input);
}

Transfer send_to(int descriptor, std::string_view bytes) {
    ssize_t sent = -1;
    do {
        sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return transfer_of(sent, Outcome::needs_output);
}

Socket::Socket(int descriptor, std::unique_ptr<SecureLayer> layer)
    : descriptor_(descriptor), layer_(std::move(layer)) {}

Socket::Socket(Socket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), layer_(std::move(other.layer_)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = std::exchange(other.descriptor_, -1);
        layer_ = std::move(other.layer_);
    }
    return *this;
}

Socket::~Socket() {
    close();
}

void Socket::close() {
    layer_.reset(); // sends close_notify
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Transfer Socket::try_read(char* into, std::size_t bytes) {
    return layer_ ? layer_->read(into, bytes) : receive_from(descriptor_, into, bytes);
}

Transfer Socket::send(std::string_view bytes) {
    return layer_ ? layer_->write(bytes) : send_to(descriptor_, bytes);
}

std::optional<std::size_t> Socket::read(char* into, std::size_t bytes, std::chrono::milliseconds timeout) {
    const auto limit = Clock::now() + timeout;
    while (true) {
        const Transfer read = try_read(into, bytes);
        if (read.outcome == Outcome::moved || read.outcome == Outcome::ended)
            return read.bytes;
        if (!await(descriptor_, read.outcome, limit))
            return std::nullopt;
    }
}

bool Socket::write(std::string_view bytes, std::chrono::milliseconds timeout) {
    while (!bytes.empty()) {
        const Transfer sent = send(bytes);
        bytes.remove_prefix(sent.bytes);
        if (sent.outcome != Outcome::moved && !await(descriptor_, sent.outcome, Clock::now() + timeout))
            return false;
    }
    return true;
}

void Socket::try_write(std::string_view bytes) {
    if (!is_in_handshake())
        send(bytes); // a peer with a full buffer would not read the rest either
}

PeerState Socket::peer() const {
    pollfd poll = {.fd = descriptor_, .events = POLLRDHUP, .revents = 0};
    if (::poll(&poll, 1, 0) <= 0)
        return PeerState::open;
    if ((poll.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return PeerState::gone;
    return PeerState::half_closed;
}

void Socket::finish() {
    layer_.reset(); // sends close_notify
    ::shutdown(descriptor_, SHUT_WR);
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

std::string Socket::remote_network() const {
    constexpr std::size_t bytes_of_network = 8;
    constexpr std::size_t bytes_of_address = 4;
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    if (::getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
        return {};
    if (address.ss_family == AF_INET) {
        const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
        return {reinterpret_cast<const char*>(&ip), bytes_of_address};
    }
    if (address.ss_family != AF_INET6)
        return {};
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const auto* const bytes = reinterpret_cast<const char*>(&ip);
    if (IN6_IS_ADDR_V4MAPPED(&ip)) // of a dual-stack socket
        return {bytes + sizeof(ip) - bytes_of_address, bytes_of_address};
    return {bytes, bytes_of_network};
}

} // namespace etna::server
