#include "server/http/parking.hpp"

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

constexpr std::string_view interim_reply = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::chrono::milliseconds farewell_timeout{2'000};
constexpr std::size_t leaving_max = 256; ///< beyond it, connections are closed at once
constexpr std::size_t piece_bytes = 16 * 1024;
constexpr int pieces_max = 16; ///< per connection, before the next one is served

} // namespace

Result<std::unique_ptr<Parking>> Parking::create(Options options, OnRequest on_request,
                                                 OnRefusal on_refusal) {
    Socket epoll(::epoll_create1(EPOLL_CLOEXEC));
    Socket wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event event = {.events = EPOLLIN, .data = {.fd = wake.descriptor()}};
    if (epoll.descriptor() < 0 || wake.descriptor() < 0 ||
        ::epoll_ctl(epoll.descriptor(), EPOLL_CTL_ADD, wake.descriptor(), &event) != 0) {
        return Error{ErrorKind::io, fmt::format("connections cannot be watched: {}", std::strerror(errno)),
                     "raise the limit of open files, `ulimit -n`"};
    }
    return std::unique_ptr<Parking>(new Parking(std::move(options), std::move(on_request),
                                                std::move(on_refusal), std::move(epoll), std::move(wake)));
}

Parking::Parking(Options options, OnRequest on_request, OnRefusal on_refusal, Socket epoll, Socket wake)
    : options_(std::move(options)), on_request_(std::move(on_request)), on_refusal_(std::move(on_refusal)),
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

void Parking::park(Socket socket, std::string_view received) {
    const auto timeout = socket.is_in_handshake() ? options_.header_timeout : options_.idle_timeout;
    std::string network = socket.remote_network();
    Parked parked = {.socket = std::move(socket),
                     .request = IncomingRequest(options_.memory),
                     .deadline = Clock::now() + timeout,
                     .network = std::move(network)};
    if (take(parked, received) == Next::gone)
        return;
    if (parked.socket.has_pending()) {
        read_on(std::move(parked));
    } else {
        watch_over(std::move(parked));
    }
    ::eventfd_write(wake_.descriptor(), 1); // the next deadline may be earlier now
}

void Parking::see_off(Socket socket) {
    if (count(Counted::leaving) >= leaving_max)
        return;
    socket.finish();
    watch_over({.socket = std::move(socket),
                .request = IncomingRequest(options_.memory),
                .deadline = Clock::now() + farewell_timeout,
                .is_leaving = true});
    ::eventfd_write(wake_.descriptor(), 1);
}

std::size_t Parking::size() const {
    return count(Counted::staying);
}

std::size_t Parking::size_of(std::string_view network) const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(std::count_if(parked_.begin(), parked_.end(), [&](const auto& parked) {
        return !parked.second.is_leaving && parked.second.network == network;
    }));
}

bool Parking::displace(std::string_view network) {
    std::unique_lock lock(mutex_);
    auto idlest = parked_.end();
    for (auto parked = parked_.begin(); parked != parked_.end(); ++parked) {
        const Parked& one = parked->second;
        const bool is_idler =
            idlest == parked_.end() ||
            std::pair(one.is_begun, one.heard) < std::pair(idlest->second.is_begun, idlest->second.heard);
        if (!one.is_leaving && one.network == network && is_idler)
            idlest = parked;
    }
    if (idlest == parked_.end())
        return false;
    Parked displaced = std::move(idlest->second);
    parked_.erase(idlest);
    lock.unlock();
    if (displaced.is_begun)
        refuse(displaced, {.status = 503, .problem = "too many connections"});
    return true;
}

bool Parking::displace() {
    std::map<std::string, std::size_t> sizes;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [descriptor, parked] : parked_)
            sizes[parked.network] += parked.is_leaving ? 0 : 1;
    }
    const auto most = std::max_element(sizes.begin(), sizes.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most != sizes.end() && displace(most->first);
}

std::size_t Parking::count(Counted counted) const {
    const std::scoped_lock lock(mutex_);
    const bool leaving = counted == Counted::leaving;
    return static_cast<std::size_t>(std::count_if(parked_.begin(), parked_.end(), [&](const auto& parked) {
        return parked.second.is_leaving == leaving;
    }));
}

void Parking::watch_over(Parked parked) {
    const int descriptor = parked.socket.descriptor();
    // One-shot: after one event, the connection belongs to the code that takes it out of the map. A peer that
    // is to receive bytes may have closed its sending half.
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
}

void Parking::watch() {
    constexpr std::size_t events_max = 256;
    std::array<epoll_event, events_max> events{};
    // The flag is checked after the wake-up is consumed and before the next wait: stop() sets the flag first
    // and then wakes, so that one of the two is seen.
    while (!is_at_end()) {
        const int count = ::epoll_wait(epoll_.descriptor(), events.data(), events_max, wait_ms());
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

bool Parking::is_at_end() {
    const std::scoped_lock lock(mutex_);
    if (is_ending_)
        parked_.clear();
    return is_ending_;
}

void Parking::resume(int descriptor) {
    std::unique_lock lock(mutex_);
    const auto found = parked_.find(descriptor);
    if (found == parked_.end() || is_ending_)
        return;
    Parked parked = std::move(found->second);
    parked_.erase(found);
    lock.unlock();
    read_or_close(std::move(parked));
}

/// If memory runs out, the connection is closed, which frees its memory.
void Parking::read_or_close(Parked parked) {
    try {
        read_on(std::move(parked));
    } catch (const std::bad_alloc&) {
        return; // closed by unwinding
    }
}

/// Processes the available input, then watches for the rest.
void Parking::read_on(Parked parked) {
    for (int piece = 0; piece < pieces_max || parked.socket.has_pending(); ++piece) {
        const Next next = read(parked);
        if (next == Next::gone)
            return;
        if (next == Next::watch)
            break;
    }
    watch_over(std::move(parked));
}

/// One read, which may yield no HTTP data yet.
Parking::Next Parking::read(Parked& parked) {
    const bool was_in_handshake = parked.socket.is_in_handshake();
    std::array<char, piece_bytes> piece{};
    const Transfer read = parked.socket.try_read(piece.data(), piece.size());
    if (read.outcome == Transfer::Outcome::ended && parked.request.stage() == IncomingRequest::Stage::body) {
        refuse(parked, {.problem = "the body of the request did not arrive whole"});
        return Next::gone;
    }
    if (read.outcome == Transfer::Outcome::ended || read.outcome == Transfer::Outcome::broken)
        return Next::gone;
    if (was_in_handshake && !parked.socket.is_in_handshake())
        parked.deadline = Clock::now() + options_.idle_timeout;
    parked.waits_for = read.bytes > 0 ? Transfer::Outcome::needs_input : read.outcome;
    if (read.bytes == 0)
        return Next::watch;
    return parked.is_leaving ? Next::read : take(parked, {piece.data(), read.bytes});
}

/// Hands the request over when complete, or the connection if refused.
Parking::Next Parking::take(Parked& parked, std::string_view bytes) {
    std::optional<Refusal> refusal;
    try {
        refusal = parked.request.take(bytes, options_.bounds);
    } catch (const std::bad_alloc&) {
        refusal = Refusal{.status = 503, .problem = "there is no memory for the request"};
    }
    if (refusal) {
        refuse(parked, std::move(*refusal));
        return Next::gone;
    }
    if (parked.request.stage() == IncomingRequest::Stage::whole) {
        on_request_(std::move(parked.socket), parked.request.take_arrival());
        return Next::gone;
    }
    if (parked.request.read_continuation() &&
        !parked.socket.write(interim_reply, std::chrono::milliseconds(0)))
        return Next::gone;
    if (!bytes.empty()) {
        parked.heard = Clock::now();
        set_deadline(parked);
    }
    return Next::read;
}

/// If there is no memory for the response, the connection is closed without one.
void Parking::refuse(Parked& parked, Refusal refusal) const {
    try {
        refusal.request = parked.request.seen();
        parked.request = IncomingRequest(options_.memory); // frees what it held
        on_refusal_(std::move(parked.socket), refusal);
    } catch (const std::bad_alloc&) {
        parked.socket = Socket(-1);
    }
}

/// Only a new stage of the request moves its deadline, and each byte of a body extends it.
void Parking::set_deadline(Parked& parked) const {
    if (!std::exchange(parked.is_begun, true)) // empty lines before the head do not restart it
        parked.deadline = Clock::now() + options_.header_timeout;
    if (parked.request.stage() != IncomingRequest::Stage::body)
        return;
    if (parked.body_began == Clock::time_point())
        parked.body_began = Clock::now();
    const auto earned_s = std::chrono::seconds(parked.request.body_bytes() / options_.body_bytes_per_s);
    parked.deadline = parked.body_began + options_.body_timeout + earned_s;
}

/// Closes connections past their deadline: silently between requests, with a response in the middle of one.
void Parking::expire() {
    const auto now = Clock::now();
    std::map<int, Parked> late; // moving nodes does not allocate
    {
        const std::scoped_lock lock(mutex_);
        for (auto parked = parked_.begin(); parked != parked_.end();) {
            if (parked->second.deadline <= now) {
                late.insert(parked_.extract(parked++));
            } else {
                ++parked;
            }
        }
    }
    for (auto& [descriptor, parked] : late) {
        using Stage = IncomingRequest::Stage;
        const Stage stage = parked.request.stage();
        if (stage == Stage::head || stage == Stage::body) {
            refuse(parked, {.status = 408,
                            .problem = stage == Stage::head ? "the head of the request took too long"
                                                            : "the body of the request took too long"});
        }
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
