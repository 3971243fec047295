#include "server/http/event_stream.hpp"

#include "server/http/sse.hpp"

namespace etna::server {

bool EventStream::send(std::string_view frames) {
    has_left_ = has_left_ || !writer_->write(frames);
    written_ = Clock::now();
    return !has_left_;
}

bool EventStream::is_left() {
    // For a client that has closed its sending half: if it is gone, the second write fails.
    constexpr std::chrono::milliseconds half_closed_probe{200};
    if (has_left_)
        return true;
    const PeerState peer = writer_->peer();
    has_left_ = peer == PeerState::gone;
    const auto probe_interval =
        peer == PeerState::half_closed ? std::min(half_closed_probe, keep_alive_) : keep_alive_;
    if (!has_left_ && Clock::now() - written_ >= probe_interval)
        send(sse::comment("keep-alive"));
    return has_left_;
}

} // namespace etna::server
