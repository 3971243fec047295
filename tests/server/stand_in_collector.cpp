#include "tests/server/stand_in_collector.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <chrono>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace etna::test {
namespace {

constexpr int poll_ms = 5;

bool is_readable(int descriptor) {
    pollfd one = {.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, poll_ms) > 0;
}

/// Whether the request is complete.
bool is_whole(const std::string& text) {
    const std::size_t head = text.find("\r\n\r\n");
    const std::string_view name = "Content-Length: ";
    const std::size_t length = text.find(name);
    return head != std::string::npos && length < head &&
           text.size() >= head + 4 + std::stoul(text.substr(length + name.size()));
}

void send_text(int connection, std::string_view text) {
    (void)!::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

int port_of(const std::string& address) {
    return address.empty() ? 0 : std::stoi(address.substr(address.rfind(':') + 1));
}

} // namespace

StandInCollector::StandInCollector(const std::string& address, Manner manner)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), manner_(manner) {
    constexpr int backlog = 16;
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(port_of(address)));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
    REQUIRE(::listen(listener_, backlog) == 0);
    socklen_t size = sizeof name;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
    thread_ = std::thread([this] { serve(); });
}

StandInCollector::~StandInCollector() {
    is_ending_ = true;
    thread_.join();
    ::close(listener_);
}

std::string StandInCollector::url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
}

std::vector<std::string> StandInCollector::requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
}

void StandInCollector::serve() {
    while (!is_ending_) {
        if (!is_readable(listener_))
            continue;
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        answer(connection);
        ::close(connection);
    }
}

bool StandInCollector::is_silent() const {
    return !is_ending_ && (manner_ == Manner::is_silent || manner_ == Manner::trickles);
}

void StandInCollector::answer(int connection) {
    std::string request;
    std::array<char, 4096> piece{};
    while (!is_ending_ && !is_whole(request)) {
        if (!is_readable(connection))
            continue;
        const ssize_t count = ::recv(connection, piece.data(), piece.size(), 0);
        if (count <= 0)
            return;
        request.append(piece.data(), static_cast<std::size_t>(count));
        if (request.find("Expect: 100-continue") != std::string::npos && request.ends_with("\r\n\r\n"))
            send_text(connection, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    while (is_silent()) {
        if (manner_ == Manner::trickles)
            send_text(connection, "H");
        if (is_readable(connection)) // the exporter has disconnected
            return;
    }
    const Manner manner = manner_;
    if (manner == Manner::talks_nonsense)
        return send_text(connection, "220 mail.example ESMTP\r\n");
    if (manner == Manner::rejects_one) {
        const std::string body = R"({"partialSuccess": {"rejectedSpans": "1"}})";
        return send_text(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body);
    }
    if (manner == Manner::accepts) {
        const std::scoped_lock lock(mutex_);
        requests_.push_back(request);
    }
    const char* const status = manner == Manner::accepts   ? "200 OK"
                               : manner == Manner::refuses ? "400 Bad Request"
                                                           : "503 Service Unavailable";
    send_text(connection,
              std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
}

} // namespace etna::test
