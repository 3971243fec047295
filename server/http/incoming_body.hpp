#pragma once

#include "server/http/request_head.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::server {

/// Incremental reader for a request body, with Content-Length or chunked (RFC 9112, 6 and 7.1). Trailers are
/// skipped.
class IncomingBody {
public:
    /// Reads the body that `head` announces, at most `bytes_max` bytes.
    IncomingBody(const RequestHead& head, std::size_t bytes_max);

    /// Consumes the bytes of the body from the front of `received`. Remaining bytes must be passed again,
    /// with more data appended, or follow the body. Refusals: 400 (malformed chunks), 413.
    std::optional<Refusal> take(std::string& received);

    [[nodiscard]] bool is_whole() const { return step_ == Step::whole; }
    [[nodiscard]] std::size_t bytes() const { return body_.size(); }
    [[nodiscard]] std::string take_body() { return std::move(body_); }

private:
    enum class Step : uint8_t {
        size,    ///< expects a chunk-size line
        data,    ///< expects the data of a chunk, or of the whole body if not chunked
        end,     ///< expects the line end after a chunk's data
        trailer, ///< expects a trailer line, or the empty line that ends the trailer
        whole,
    };

    std::optional<Refusal> take_data(std::string_view available, std::size_t& used);
    std::optional<Refusal> take_line(std::string_view line);

    std::size_t bytes_max_;
    bool is_chunked_;
    Step step_;
    uint64_t left_ = 0; ///< remaining bytes of the current data
    std::size_t trailer_bytes_ = 0;
    std::string body_;
};

} // namespace etna::server
