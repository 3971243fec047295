#include "server/kv_events/socket.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <zmq.h>

namespace etna::server::kv_events {
namespace {

constexpr int linger_ms = 200;

bool is_bound(const std::string& endpoint) {
    return endpoint.find('*') != std::string::npos || endpoint.find("::") != std::string::npos ||
           endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://");
}

/// Whether the host is an IPv4 address; with IPv6 enabled, ZeroMQ would show it as an IPv6 address.
bool is_ipv4(std::string_view endpoint) {
    constexpr std::string_view scheme = "tcp://";
    return endpoint.starts_with(scheme) && endpoint.size() > scheme.size() &&
           endpoint[scheme.size()] >= '0' && endpoint[scheme.size()] <= '9';
}

Error socket_error(const std::string& endpoint) {
    const int code = zmq_errno();
    const bool is_wrong = code == EINVAL || code == EPROTONOSUPPORT || code == ENODEV;
    return {is_wrong ? ErrorKind::invalid_argument : ErrorKind::io,
            fmt::format("ZeroMQ cannot use {}: {}", endpoint, zmq_strerror(code)),
            is_wrong ? "use an endpoint such as tcp://*:5557 or ipc:///run/etna/kv"
                     : "choose another port, or end the program that uses it"};
}

void release_bytes(void* /*data*/, void* hint) {
    delete static_cast<SharedBytes*>(hint);
}

} // namespace

Result<Socket> Socket::open(Kind kind, const std::string& endpoint, uint32_t messages_max,
                            uint32_t received_bytes_max) {
    void* const context = zmq_ctx_new();
    if (context == nullptr)
        return socket_error(endpoint);
    void* const handle = zmq_socket(context, kind == Kind::publisher ? ZMQ_PUB : ZMQ_ROUTER);
    if (handle == nullptr) {
        Error error = socket_error(endpoint);
        zmq_ctx_term(context);
        return error;
    }
    Socket socket(context, handle);
    const auto set = [&](int option, auto value) { zmq_setsockopt(handle, option, &value, sizeof(value)); };
    constexpr int received_max = 1000; // queued requests
    set(ZMQ_LINGER, linger_ms);
    set(ZMQ_IPV6, is_ipv4(endpoint) ? 0 : 1);
    set(ZMQ_SNDHWM, static_cast<int>(messages_max));
    set(ZMQ_RCVHWM, received_max);
    set(ZMQ_MAXMSGSIZE, static_cast<int64_t>(received_bytes_max));
    const bool binds = kind == Kind::router || is_bound(endpoint);
    if ((binds ? zmq_bind(handle, endpoint.c_str()) : zmq_connect(handle, endpoint.c_str())) != 0)
        return socket_error(endpoint);
    return socket;
}

Socket::Socket(Socket&& other) noexcept
    : context_(std::exchange(other.context_, nullptr)), socket_(std::exchange(other.socket_, nullptr)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(socket_, other.socket_);
    return *this;
}

Socket::~Socket() {
    if (socket_ != nullptr)
        zmq_close(socket_);
    if (context_ != nullptr)
        zmq_ctx_term(context_);
}

std::string Socket::endpoint() const {
    std::array<char, 512> text{};
    std::size_t size = text.size();
    return zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, text.data(), &size) == 0 ? std::string(text.data())
                                                                               : "";
}

void Socket::send(std::span<const SharedBytes> frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        auto* const hint = new SharedBytes(frames[i]);
        zmq_msg_t message;
        // ZeroMQ does not write to a message that it sends.
        zmq_msg_init_data(&message, const_cast<char*>((*hint)->data()), (*hint)->size(), release_bytes, hint);
        const int more = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
        if (zmq_msg_send(&message, socket_, ZMQ_DONTWAIT | more) < 0) {
            zmq_msg_close(&message); // the peer is gone, or its queue is full
            return;
        }
    }
}

std::vector<std::string> Socket::receive(std::size_t frames_max) {
    std::vector<std::string> frames;
    bool has_more = true;
    while (has_more) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&message);
            return {};
        }
        if (frames.size() < frames_max)
            frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
        has_more = zmq_msg_more(&message) != 0;
        zmq_msg_close(&message);
    }
    return frames;
}

void Socket::wait(const Socket* socket, int descriptor) {
    std::array<zmq_pollitem_t, 2> items = {
        {{nullptr, descriptor, ZMQ_POLLIN, 0}, {nullptr, 0, ZMQ_POLLIN, 0}}};
    if (socket != nullptr)
        items[1].socket = socket->socket_;
    constexpr long forever = -1;
    zmq_poll(items.data(), socket == nullptr ? 1 : 2, forever);
}

} // namespace etna::server::kv_events
