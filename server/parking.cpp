#include "server/parking.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace etna::server {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

} // namespace

Result<std::unique_ptr<Parking>> Parking::create(const Options& options, OnRequest on_request,
                                                 OnProblem on_problem) {
    Socket epoll(::epoll_create1(EPOLL_CLOEXEC));
    Socket wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event = {.events = EPOLLIN, .data = {.fd = wake.descriptor()}};
    if (epoll.descriptor() < 0 || wake.descriptor() < 0 ||
        ::epoll_ctl(epoll.descriptor(), EPOLL_CTL_ADD, wake.descriptor(), &event) != 0) {
        return Error{ErrorKind::io, fmt::format("connections cannot be watched: {}", std::strerror(errno)),
                     "raise the limit of open files, `ulimit -n`"};
    }
    return std::unique_ptr<Parking>(new Parking(options, std::move(on_request), std::move(on_problem),
                                                std::move(epoll), std::move(wake)));
}

Parking::Parking(const Options& options, OnRequest on_request, OnProblem on_problem, Socket epoll,
                 Socket wake)
    : options_(options), on_request_(std::move(on_request)), on_problem_(std::move(on_problem)),
      epoll_(std::move(epoll)), wake_(std::move(wake)), thread_([this] { watch(); }) {}

Parking::~Parking() {
    stop();
}

void Parking::stop() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    ::eventfd_write(wake_.descriptor(), 1);
    if (thread_.joinable())
        thread_.join();
}

void Parking::park(Socket socket, std::string received) {
    const bool is_begun = !received.empty() || socket.is_in_handshake();
    const auto timeout = is_begun ? options_.header_timeout : options_.idle_timeout;
    const bool has_bytes = !received.empty();
    settle({.socket = std::move(socket),
            .received = std::move(received),
            .deadline = Clock::now() + timeout,
            .is_begun = has_bytes});
}

std::size_t Parking::size() const {
    const std::scoped_lock lock(mutex_);
    return parked_.size();
}

/// Hands a request on that is there already, or begins to watch.
void Parking::settle(Parked parked) {
    while (true) {
        // Empty lines before a request are to be skipped (RFC 9112, 2.2).
        parked.received.erase(0, std::min(parked.received.find_first_not_of("\r\n"), parked.received.size()));
        if (parked.received.find(head_end) != std::string::npos)
            return on_request_(std::move(parked.socket), std::move(parked.received));
        if (parked.received.size() > options_.header_bytes_max)
            return on_problem_(std::move(parked.socket), 431);
        if (!parked.socket.has_pending())
            return watch_over(std::move(parked));
        if (!receive(parked))
            return; // closed, here too
    }
}

void Parking::watch_over(Parked parked) {
    const int descriptor = parked.socket.descriptor();
    // One event, then it belongs to whoever takes it out of the map. Who is to take bytes may have closed the
    // half that sends them.
    const uint32_t wanted =
        parked.waits_for == Transfer::Outcome::needs_output ? EPOLLOUT : EPOLLIN | EPOLLRDHUP;
    epoll_event event = {.events = wanted | EPOLLONESHOT, .data = {.fd = descriptor}};
    {
        const std::scoped_lock lock(mutex_);
        if (is_ending_)
            return;
        parked_.insert_or_assign(descriptor, std::move(parked));
        if (::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_ADD, descriptor, &event) != 0 &&
            (errno != EEXIST || ::epoll_ctl(epoll_.descriptor(), EPOLL_CTL_MOD, descriptor, &event) != 0))
            parked_.erase(descriptor);
    }
    ::eventfd_write(wake_.descriptor(), 1); // the next deadline may be nearer now
}

void Parking::watch() {
    constexpr std::size_t events_max = 256;
    std::array<epoll_event, events_max> events{};
    while (true) {
        const int count = ::epoll_wait(epoll_.descriptor(), events.data(), events_max, wait_ms());
        {
            const std::scoped_lock lock(mutex_);
            if (is_ending_) {
                parked_.clear();
                return;
            }
        }
        for (int i = 0; i < count; ++i) {
            if (events[static_cast<std::size_t>(i)].data.fd == wake_.descriptor()) {
                eventfd_t ignored = 0;
                ::eventfd_read(wake_.descriptor(), &ignored);
            } else {
                resume(events[static_cast<std::size_t>(i)].data.fd);
            }
        }
        expire();
    }
}

void Parking::resume(int descriptor) {
    std::unique_lock lock(mutex_);
    const auto found = parked_.find(descriptor);
    if (found == parked_.end())
        return;
    Parked parked = std::move(found->second);
    parked_.erase(found);
    lock.unlock();
    if (receive(parked))
        settle(std::move(parked));
}

/// Takes what has come, which may be nothing yet of what HTTP is to see: only a step of it moves the
/// deadline. False when the connection has ended.
bool Parking::receive(Parked& parked) const {
    const bool was_in_handshake = parked.socket.is_in_handshake();
    std::array<char, 16 * 1024> piece{};
    const Transfer read = parked.socket.try_read(piece.data(), piece.size());
    if (read.outcome == Transfer::Outcome::ended || read.outcome == Transfer::Outcome::broken)
        return false;
    if (was_in_handshake && !parked.socket.is_in_handshake())
        parked.deadline = Clock::now() + options_.idle_timeout;
    if (read.bytes > 0 && !std::exchange(parked.is_begun, true)) // empty lines before it do not begin it anew
        parked.deadline = Clock::now() + options_.header_timeout;
    parked.received.append(piece.data(), read.bytes);
    parked.waits_for = read.bytes > 0 ? Transfer::Outcome::needs_input : read.outcome;
    return true;
}

/// Ends those whose time is up: quietly between requests, with an answer in the middle of a head.
void Parking::expire() {
    const auto now = Clock::now();
    std::vector<Parked> late;
    {
        const std::scoped_lock lock(mutex_);
        for (auto parked = parked_.begin(); parked != parked_.end();) {
            if (parked->second.deadline <= now) {
                late.push_back(std::move(parked->second));
                parked = parked_.erase(parked);
            } else {
                ++parked;
            }
        }
    }
    for (Parked& parked : late) {
        if (!parked.received.empty())
            on_problem_(std::move(parked.socket), 408);
    }
}

int Parking::wait_ms() {
    const std::scoped_lock lock(mutex_);
    if (parked_.empty())
        return -1;
    const auto nearest = std::min_element(parked_.begin(), parked_.end(), [](const auto& a, const auto& b) {
        return a.second.deadline < b.second.deadline;
    });
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(nearest->second.deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

} // namespace etna::server
