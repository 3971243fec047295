#include "server/http/connection_poller.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace etna::server {
namespace {

constexpr std::string_view continue_reply = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::chrono::milliseconds linger_timeout{2'000};
constexpr std::size_t closing_max = 256; ///< beyond it, connections are closed at once
constexpr std::size_t read_bytes_max = 16 * 1024;
constexpr int reads_max = 16; ///< per connection, before the next one is served

} // namespace

Result<std::unique_ptr<ConnectionPoller>> ConnectionPoller::create(Options options, OnRequest on_request,
                                                                   OnRefusal on_refusal) {
    Socket epoll(::epoll_create1(EPOLL_CLOEXEC));
    Socket wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event = {.events = EPOLLIN, .data = {.fd = wake.descriptor()}};
    if (epoll.descriptor() < 0 || wake.descriptor() < 0 ||
        ::epoll_ctl(epoll.descriptor(), EPOLL_CTL_ADD, wake.descriptor(), &event) != 0) {
        return Error{ErrorKind::io, fmt::format("cannot poll connections: {}", std::strerror(errno)),
                     "raise the limit of open files, `ulimit -n`"};
    }
    return std::unique_ptr<ConnectionPoller>(new ConnectionPoller(
        std::move(options), std::move(on_request), std::move(on_refusal), std::move(epoll), std::move(wake)));
}

ConnectionPoller::ConnectionPoller(Options options, OnRequest on_request, OnRefusal on_refusal, Socket epoll,
                                   Socket wake)
    : options_(std::move(options)), on_request_(std::move(on_request)), on_refusal_(std::move(on_refusal)),
      epoll_(std::move(epoll)), wake_(std::move(wake)), thread_([this] { poll(); }) {}

ConnectionPoller::~ConnectionPoller() {
    stop();
}

void ConnectionPoller::stop() {
    {
        const std::scoped_lock lock(mutex_);
        is_stopping_ = true;
    }
    ::eventfd_write(wake_.descriptor(), 1);
    if (thread_.joinable())
        thread_.join();
}

void ConnectionPoller::add(Socket socket, std::string_view received) {
    const auto timeout = socket.is_in_handshake() ? options_.header_timeout : options_.idle_timeout;
    std::string network = socket.remote_network();
    Connection connection = {.socket = std::move(socket),
                             .request = IncomingRequest(options_.memory),
                             .deadline = Clock::now() + timeout,
                             .network = std::move(network)};
    if (feed(connection, received) == Next::gone)
        return;
    if (connection.socket.has_pending()) {
        read_available(std::move(connection));
    } else {
        wait_for_input(std::move(connection));
    }
    ::eventfd_write(wake_.descriptor(), 1); // the next deadline may be earlier now
}

void ConnectionPoller::close_gracefully(Socket socket) {
    if (count(Phase::closing) >= closing_max)
        return;
    socket.finish();
    wait_for_input({.socket = std::move(socket),
                    .request = IncomingRequest(options_.memory),
                    .deadline = Clock::now() + linger_timeout,
                    .phase = Phase::closing});
    ::eventfd_write(wake_.descriptor(), 1);
}

std::size_t ConnectionPoller::size() const {
    return count(Phase::open);
}

std::size_t ConnectionPoller::size_of(std::string_view network) const {
    const std::scoped_lock lock(mutex_);
    const auto count = std::count_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
        return entry.second.phase == Phase::open && entry.second.network == network;
    });
    return static_cast<std::size_t>(count);
}

bool ConnectionPoller::evict_idle(std::string_view network) {
    std::unique_lock lock(mutex_);
    auto longest_idle = connections_.end();
    const auto rank = [](const auto& entry) {
        return std::pair(entry->second.has_input, entry->second.last_input);
    };
    for (auto entry = connections_.begin(); entry != connections_.end(); ++entry) {
        const bool is_candidate = entry->second.phase == Phase::open && entry->second.network == network;
        if (is_candidate && (longest_idle == connections_.end() || rank(entry) < rank(longest_idle)))
            longest_idle = entry;
    }
    if (longest_idle == connections_.end())
        return false;
    Connection evicted = std::move(longest_idle->second);
    connections_.erase(longest_idle);
    lock.unlock();
    if (evicted.has_input)
        refuse(evicted, {.status = 503, .problem = "too many connections"});
    return true;
}

bool ConnectionPoller::evict_idle() {
    std::map<std::string, std::size_t> sizes;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [descriptor, connection] : connections_)
            sizes[connection.network] += connection.phase == Phase::open ? 1 : 0;
    }
    const auto largest = std::max_element(sizes.begin(), sizes.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    return largest != sizes.end() && evict_idle(largest->first);
}

std::size_t ConnectionPoller::count(Phase phase) const {
    const std::scoped_lock lock(mutex_);
    const auto count = std::count_if(connections_.begin(), connections_.end(),
                                     [&](const auto& entry) { return entry.second.phase == phase; });
    return static_cast<std::size_t>(count);
}

void ConnectionPoller::wait_for_input(Connection connection) {
    const int descriptor = connection.socket.descriptor();
    // One-shot: after one event, the connection belongs to the code that takes it out of the map. A peer that
    // is to receive bytes may have closed its sending half.
    const uint32_t events =
        connection.waits_for == Transfer::Outcome::needs_output ? EPOLLOUT : EPOLLIN | EPOLLRDHUP;
    epoll_event event = {.events = events | EPOLLONESHOT, .data = {.fd = descriptor}};
    {
        const std::scoped_lock lock(mutex_);
        if (is_stopping_)
            return;
        connections_.insert_or_assign(descriptor, std::move(connection));
        if (::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_ADD, descriptor, &event) != 0 &&
            (errno != EEXIST || ::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_MOD, descriptor, &event) != 0))
            connections_.erase(descriptor);
    }
}

void ConnectionPoller::poll() {
    constexpr std::size_t events_max = 256;
    std::array<epoll_event, events_max> events{};
    // The flag is checked after the wake-up is consumed and before the next wait: stop() sets the flag first
    // and then wakes, so that one of the two is seen.
    while (!close_all_if_stopping()) {
        const int count = ::epoll_wait(epoll_.descriptor(), events.data(), events_max, wait_ms());
        for (int i = 0; i < count; ++i) {
            if (events[static_cast<std::size_t>(i)].data.fd == wake_.descriptor()) {
                eventfd_t ignored = 0;
                ::eventfd_read(wake_.descriptor(), &ignored);
            } else {
                on_event(events[static_cast<std::size_t>(i)].data.fd);
            }
        }
        expire();
    }
}

bool ConnectionPoller::close_all_if_stopping() {
    const std::scoped_lock lock(mutex_);
    if (is_stopping_)
        connections_.clear();
    return is_stopping_;
}

void ConnectionPoller::on_event(int descriptor) {
    std::unique_lock lock(mutex_);
    const auto found = connections_.find(descriptor);
    if (found == connections_.end() || is_stopping_)
        return;
    Connection connection = std::move(found->second);
    connections_.erase(found);
    lock.unlock();
    read_or_close(std::move(connection));
}

/// If memory runs out, the connection is closed, which frees its memory.
void ConnectionPoller::read_or_close(Connection connection) {
    try {
        read_available(std::move(connection));
    } catch (const std::bad_alloc&) {
        return; // closed by unwinding
    }
}

/// Processes the available input, then waits for the rest.
void ConnectionPoller::read_available(Connection connection) {
    for (int reads = 0; reads < reads_max || connection.socket.has_pending(); ++reads) {
        const Next next = read(connection);
        if (next == Next::gone)
            return;
        if (next == Next::wait)
            break;
    }
    wait_for_input(std::move(connection));
}

/// One read, which may yield no HTTP data yet.
ConnectionPoller::Next ConnectionPoller::read(Connection& connection) {
    const bool was_in_handshake = connection.socket.is_in_handshake();
    std::array<char, read_bytes_max> buffer{};
    const Transfer read = connection.socket.try_read(buffer.data(), buffer.size());
    if (read.outcome == Transfer::Outcome::ended &&
        connection.request.stage() == IncomingRequest::Stage::body) {
        refuse(connection, {.problem = "the request body is incomplete"});
        return Next::gone;
    }
    if (read.outcome == Transfer::Outcome::ended || read.outcome == Transfer::Outcome::broken)
        return Next::gone;
    if (was_in_handshake && !connection.socket.is_in_handshake())
        connection.deadline = Clock::now() + options_.idle_timeout;
    connection.waits_for = read.bytes > 0 ? Transfer::Outcome::needs_input : read.outcome;
    if (read.bytes == 0)
        return Next::wait;
    return connection.phase == Phase::closing ? Next::read : feed(connection, {buffer.data(), read.bytes});
}

/// Hands the request over when complete, or the connection if refused.
ConnectionPoller::Next ConnectionPoller::feed(Connection& connection, std::string_view bytes) {
    std::optional<Refusal> refusal;
    try {
        refusal = connection.request.feed(bytes, options_.limits);
    } catch (const std::bad_alloc&) {
        refusal = Refusal{.status = 503, .problem = "out of memory for the request"};
    }
    if (refusal) {
        refuse(connection, std::move(*refusal));
        return Next::gone;
    }
    if (connection.request.stage() == IncomingRequest::Stage::complete) {
        on_request_(std::move(connection.socket), connection.request.take_request());
        return Next::gone;
    }
    if (connection.request.must_send_continue() &&
        !connection.socket.write(continue_reply, std::chrono::milliseconds(0)))
        return Next::gone;
    if (!bytes.empty()) {
        connection.last_input = Clock::now();
        set_deadline(connection);
    }
    return Next::read;
}

/// If there is no memory for the response, the connection is closed without one.
void ConnectionPoller::refuse(Connection& connection, Refusal refusal) const {
    try {
        refusal.request = connection.request.partial_request();
        connection.request = IncomingRequest(options_.memory); // frees the received bytes
        on_refusal_(std::move(connection.socket), refusal);
    } catch (const std::bad_alloc&) {
        connection.socket = Socket(-1);
    }
}

/// Only a new stage of the request moves its deadline, and each byte of a body extends it.
void ConnectionPoller::set_deadline(Connection& connection) const {
    if (!std::exchange(connection.has_input, true)) // empty lines before the head do not restart it
        connection.deadline = Clock::now() + options_.header_timeout;
    if (connection.request.stage() != IncomingRequest::Stage::body)
        return;
    if (connection.body_start == Clock::time_point())
        connection.body_start = Clock::now();
    const auto earned_s = std::chrono::seconds(connection.request.body_bytes() / options_.body_bytes_per_s);
    connection.deadline = connection.body_start + options_.body_timeout + earned_s;
}

/// Closes connections past their deadline: silently between requests, with a response in the middle of one.
void ConnectionPoller::expire() {
    const auto now = Clock::now();
    std::map<int, Connection> expired; // moving nodes does not allocate
    {
        const std::scoped_lock lock(mutex_);
        for (auto entry = connections_.begin(); entry != connections_.end();) {
            if (entry->second.deadline <= now) {
                expired.insert(connections_.extract(entry++));
            } else {
                ++entry;
            }
        }
    }
    for (auto& [descriptor, connection] : expired) {
        using Stage = IncomingRequest::Stage;
        const Stage stage = connection.request.stage();
        if (stage == Stage::head || stage == Stage::body) {
            refuse(connection, {.status = 408,
                                .problem = stage == Stage::head ? "the request head took too long"
                                                                : "the request body took too long"});
        }
    }
}

int ConnectionPoller::wait_ms() {
    const std::scoped_lock lock(mutex_);
    if (connections_.empty())
        return -1;
    const auto earliest =
        std::min_element(connections_.begin(), connections_.end(),
                         [](const auto& a, const auto& b) { return a.second.deadline < b.second.deadline; });
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(earliest->second.deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

} // namespace etna::server
