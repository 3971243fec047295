#include "server/http/incoming_request.hpp"

#include "server/api_error.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

} // namespace

std::optional<Refusal> IncomingRequest::take(std::string_view bytes, const IncomingBounds& bounds) {
    if (received_.empty() && !body_)
        bytes.remove_prefix(std::min(bytes.find_first_not_of(line_end), bytes.size()));
    const std::size_t searched = received_.size() - std::min(received_.size(), head_end.size() - 1);
    received_ += bytes;
    if (!body_) {
        if (auto refusal = take_head(searched, bounds); refusal || !body_)
            return refusal;
    }
    if (auto refusal = body_->take(received_))
        return refusal;
    const std::size_t counted = body_->bytes() - std::min(body_->bytes(), MemoryShare::uncounted_bytes);
    if (!share_.grow_by(counted - share_.bytes())) {
        return Refusal{.status = 503, .problem = no_memory().message};
    }
    return std::nullopt;
}

/// Starts the body if the head is complete. `searched`: bytes known not to contain the start of the head's
/// end.
std::optional<Refusal> IncomingRequest::take_head(std::size_t searched, const IncomingBounds& bounds) {
    const std::size_t end = received_.find(head_end, searched);
    if (std::min(end, received_.size()) > bounds.header_bytes_max) {
        return Refusal{.status = 431,
                       .problem = fmt::format("the head of the request is longer than {} bytes",
                                              bounds.header_bytes_max)};
    }
    if (end == std::string::npos)
        return std::nullopt;
    auto head = read_head(std::string_view(received_).substr(0, end + line_end.size()));
    if (auto* refusal = std::get_if<Refusal>(&head))
        return std::move(*refusal);
    head_ = std::get<RequestHead>(std::move(head));
    received_.erase(0, end + head_end.size());
    body_.emplace(head_, bounds.body_bytes_max(head_.request));
    return std::nullopt;
}

IncomingRequest::Stage IncomingRequest::stage() const {
    if (!body_)
        return received_.empty() ? Stage::none : Stage::head;
    return body_->is_whole() ? Stage::whole : Stage::body;
}

HttpRequest IncomingRequest::seen() const {
    return body_ ? head_.request : glimpse(received_);
}

bool IncomingRequest::read_continuation() {
    const bool overrides = stage() == Stage::body && body_->bytes() == 0 && received_.empty();
    return std::exchange(head_.awaits_continue, false) && overrides;
}

Arrival IncomingRequest::take_arrival() {
    head_.request.body = body_->take_body();
    head_.request.memory = std::make_shared<MemoryShare>(std::move(share_));
    return {.head = std::move(head_), .rest = std::move(received_)};
}

} // namespace etna::server
