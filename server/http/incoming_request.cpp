#include "server/http/incoming_request.hpp"

#include "server/base/api_error.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::size_t chunk_line_bytes_max = 1024;
constexpr std::size_t trailer_bytes_max = 8192;

const Refusal malformed_chunks = {.problem = "the request body is not valid chunked encoding"};

/// Parses a chunk-size line; extensions are ignored. An overflowing size becomes the maximum, over every
/// limit.
std::optional<uint64_t> parse_chunk_size(std::string_view line) {
    constexpr int base = 16;
    uint64_t bytes = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), bytes, base);
    if (read.ec == std::errc::invalid_argument)
        return std::nullopt;
    line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!is_value(line) || (!line.empty() && line.front() != ';'))
        return std::nullopt;
    return read.ec == std::errc() ? bytes : UINT64_MAX;
}

} // namespace

IncomingBody::IncomingBody(const RequestHead& head, std::size_t bytes_max)
    : bytes_max_(bytes_max), is_chunked_(head.is_chunked), step_(is_chunked_            ? Step::size
                                                                 : head.body_bytes == 0 ? Step::complete
                                                                                        : Step::data),
      data_bytes_left_(head.body_bytes) {}

std::optional<Refusal> IncomingBody::consume(std::string& received) {
    std::size_t used = 0; // erased once at the end: chunks may be one byte each
    std::optional<Refusal> refusal;
    while (!refusal && step_ != Step::complete) {
        if (step_ == Step::data) {
            refusal = consume_data(std::string_view(received).substr(used), used);
            if (step_ == Step::data)
                break;
            continue;
        }
        const std::size_t end = received.find(line_end, used);
        if (std::min(end, received.size()) - used > chunk_line_bytes_max)
            return malformed_chunks;
        if (end == std::string::npos)
            break;
        refusal = consume_line(std::string_view(received).substr(used, end - used));
        used = end + line_end.size();
    }
    received.erase(0, used);
    return refusal;
}

std::optional<Refusal> IncomingBody::consume_data(std::string_view available, std::size_t& used) {
    if (data_bytes_left_ > bytes_max_ - body_.size()) {
        return Refusal{.status = 413,
                       .problem = fmt::format("the request body exceeds the limit of {} bytes", bytes_max_)};
    }
    available = available.substr(0, static_cast<std::size_t>(data_bytes_left_));
    body_.append(available);
    used += available.size();
    data_bytes_left_ -= available.size();
    if (data_bytes_left_ == 0)
        step_ = is_chunked_ ? Step::end : Step::complete;
    return std::nullopt;
}

/// Consumes a framing line, given without its line end.
std::optional<Refusal> IncomingBody::consume_line(std::string_view line) {
    if (step_ == Step::trailer) {
        trailer_bytes_ += line.size();
        step_ = line.empty() ? Step::complete : Step::trailer;
        if (trailer_bytes_ > trailer_bytes_max)
            return malformed_chunks;
        return line.empty() ? std::nullopt : check_header(line);
    }
    if (step_ == Step::end) {
        step_ = Step::size;
        return line.empty() ? std::nullopt : std::optional(malformed_chunks);
    }
    const auto bytes = parse_chunk_size(line);
    if (!bytes)
        return malformed_chunks;
    data_bytes_left_ = *bytes;
    step_ = data_bytes_left_ == 0 ? Step::trailer : Step::data;
    return std::nullopt;
}

std::optional<Refusal> IncomingRequest::feed(std::string_view bytes, const IncomingLimits& limits) {
    if (received_.empty() && !body_)
        bytes.remove_prefix(std::min(bytes.find_first_not_of(line_end), bytes.size()));
    const std::size_t searched_bytes = received_.size() - std::min(received_.size(), head_end.size() - 1);
    received_ += bytes;
    if (!body_) {
        if (auto refusal = parse_head(searched_bytes, limits); refusal || !body_)
            return refusal;
    }
    if (auto refusal = body_->consume(received_))
        return refusal;
    const std::size_t counted = body_->bytes() - std::min(body_->bytes(), MemoryReservation::uncounted_bytes);
    if (!reservation_.grow_by(counted - reservation_.bytes())) {
        return Refusal{.status = 503, .problem = no_memory().message};
    }
    return std::nullopt;
}

/// Parses the head if it is complete, and starts the body. `searched_bytes`: bytes known not to contain the
/// start of the head's end.
std::optional<Refusal> IncomingRequest::parse_head(std::size_t searched_bytes, const IncomingLimits& limits) {
    const std::size_t end = received_.find(head_end, searched_bytes);
    if (std::min(end, received_.size()) > limits.header_bytes_max) {
        return Refusal{.status = 431,
                       .problem = fmt::format("the request head exceeds the limit of {} bytes",
                                              limits.header_bytes_max)};
    }
    if (end == std::string::npos)
        return std::nullopt;
    auto head = read_head(std::string_view(received_).substr(0, end + line_end.size()));
    if (auto* refusal = std::get_if<Refusal>(&head))
        return std::move(*refusal);
    head_ = std::get<RequestHead>(std::move(head));
    received_.erase(0, end + head_end.size());
    body_.emplace(head_, limits.body_bytes_max(head_.request));
    return std::nullopt;
}

IncomingRequest::Stage IncomingRequest::stage() const {
    if (!body_)
        return received_.empty() ? Stage::none : Stage::head;
    return body_->is_complete() ? Stage::complete : Stage::body;
}

HttpRequest IncomingRequest::partial_request() const {
    return body_ ? head_.request : read_partial_head(received_);
}

bool IncomingRequest::must_send_continue() {
    const bool is_body_missing = stage() == Stage::body && body_->bytes() == 0 && received_.empty();
    return std::exchange(head_.awaits_continue, false) && is_body_missing;
}

ReceivedRequest IncomingRequest::take_request() {
    head_.request.body = body_->take_body();
    head_.request.memory = std::make_shared<MemoryReservation>(std::move(reservation_));
    return {.head = std::move(head_), .pipelined = std::move(received_)};
}

} // namespace etna::server
