#pragma once

#include "server/request_head.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::server {

/// The body of a request on its way in, by length or in chunks (RFC 9112, 6 and 7.1). Trailers are read over.
class IncomingBody {
public:
    /// The body that `head` announces, of `bytes_max` at most.
    IncomingBody(const RequestHead& head, std::size_t bytes_max);

    /// Moves what belongs to the body from the beginning of `received`; what it leaves is for the next call,
    /// with more behind it, or follows the body. Refusals: 400 (no chunks), 413.
    std::optional<Refusal> take(std::string& received);

    [[nodiscard]] bool is_whole() const { return step_ == Step::whole; }
    [[nodiscard]] std::size_t bytes() const { return body_.size(); }
    [[nodiscard]] std::string take_body() { return std::move(body_); }

private:
    enum class Step : uint8_t {
        size,    ///< the line before a chunk is next
        data,    ///< of a chunk, or all there is without chunks
        end,     ///< the line end after a chunk's data is next
        trailer, ///< a line of the trailer is next, or the empty one that ends it
        whole,
    };

    std::optional<Refusal> take_data(std::string_view available, std::size_t& used);
    std::optional<Refusal> take_line(std::string_view line);

    std::size_t bytes_max_;
    bool is_chunked_;
    Step step_;
    uint64_t left_ = 0; ///< of the data
    std::size_t trailer_bytes_ = 0;
    std::string body_;
};

} // namespace etna::server
