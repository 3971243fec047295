#include "server/http/incoming_body.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::size_t chunk_line_bytes_max = 1024;
constexpr std::size_t trailer_bytes_max = 8192;

const Refusal no_chunks = {.problem = "the body of the request is not in chunks as its head says"};

/// Parses a chunk-size line; extensions are ignored. An overflowing size becomes the maximum, over every
/// limit.
std::optional<uint64_t> size_in(std::string_view line) {
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
                                                                 : head.body_bytes == 0 ? Step::whole
                                                                                        : Step::data),
      left_(head.body_bytes) {}

std::optional<Refusal> IncomingBody::take(std::string& received) {
    std::size_t used = 0; // erased once at the end: chunks may be one byte each
    std::optional<Refusal> refusal;
    while (!refusal && step_ != Step::whole) {
        if (step_ == Step::data) {
            refusal = take_data(std::string_view(received).substr(used), used);
            if (step_ == Step::data)
                break;
            continue;
        }
        const std::size_t end = received.find(line_end, used);
        if (std::min(end, received.size()) - used > chunk_line_bytes_max)
            return no_chunks;
        if (end == std::string::npos)
            break;
        refusal = take_line(std::string_view(received).substr(used, end - used));
        used = end + line_end.size();
    }
    received.erase(0, used);
    return refusal;
}

std::optional<Refusal> IncomingBody::take_data(std::string_view available, std::size_t& used) {
    if (left_ > bytes_max_ - body_.size()) {
        return Refusal{
            .status = 413,
            .problem = fmt::format("the body is longer than the {} bytes that are allowed here", bytes_max_)};
    }
    available = available.substr(0, static_cast<std::size_t>(left_));
    body_.append(available);
    used += available.size();
    left_ -= available.size();
    if (left_ == 0)
        step_ = is_chunked_ ? Step::end : Step::whole;
    return std::nullopt;
}

/// Consumes a framing line, given without its line end.
std::optional<Refusal> IncomingBody::take_line(std::string_view line) {
    if (step_ == Step::trailer) {
        trailer_bytes_ += line.size();
        step_ = line.empty() ? Step::whole : Step::trailer;
        if (trailer_bytes_ > trailer_bytes_max)
            return no_chunks;
        return line.empty() ? std::nullopt : check_header(line);
    }
    if (step_ == Step::end) {
        step_ = Step::size;
        return line.empty() ? std::nullopt : std::optional(no_chunks);
    }
    const auto bytes = size_in(line);
    if (!bytes)
        return no_chunks;
    left_ = *bytes;
    step_ = left_ == 0 ? Step::trailer : Step::data;
    return std::nullopt;
}

} // namespace etna::server
