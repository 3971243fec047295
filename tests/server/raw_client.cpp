#include "tests/server/raw_client.hpp"

#include "tests/support/catch.hpp"

#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace etna::test {

RawClient::RawClient(int port, const std::string& from)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (!from.empty()) {
        REQUIRE(::inet_pton(AF_INET, from.c_str(), &address.sin_addr) == 1);
        REQUIRE(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    }
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
}

RawClient::RawClient(RawClient&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RawClient::~RawClient() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

bool RawClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

void RawClient::finish() {
    ::shutdown(descriptor_, SHUT_WR);
}

void RawClient::reset() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    ::close(std::exchange(descriptor_, -1));
}

std::string RawClient::read_some(std::chrono::milliseconds limit) {
    pollfd readable = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (limit.count() <= 0 || ::poll(&readable, 1, static_cast<int>(limit.count())) <= 0)
        return {};
    std::string piece(65536, '\0');
    const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), 0);
    piece.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return piece;
}

std::string RawClient::read_until(std::string_view text, std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    std::string received;
    while (text.empty() || received.find(text) == std::string::npos) {
        const std::string piece = read_some(
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()));
        if (piece.empty())
            break;
        received += piece;
    }
    return received;
}

std::string RawClient::read_all(std::chrono::milliseconds limit) {
    return read_until({}, limit);
}

bool RawClient::is_closed(std::chrono::milliseconds limit) {
    pollfd readable = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&readable, 1, static_cast<int>(limit.count())) > 0 &&
           ::recv(descriptor_, &byte, 1, MSG_PEEK) <= 0;
}

} // namespace etna::test
