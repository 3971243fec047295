#pragma once

#include "server/base/memory_budget.hpp"
#include "server/http/request_head.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {

/// A completely received request, and the bytes that followed it on the connection.
struct ReceivedRequest {
    RequestHead head = {};      ///< its request contains the body
    std::string pipelined = {}; ///< the start of the next request
};

/// Limits for requests in transit.
struct IncomingLimits {
    std::size_t header_bytes_max = 0;
    /// Maximum body size in bytes, by method and path. Must not block.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max = {};
};

/// Incremental parser for a request body, with Content-Length or chunked (RFC 9112, 6 and 7.1). Trailers are
/// skipped.
class IncomingBody {
public:
    /// Parses the body that `head` announces, at most `bytes_max` bytes.
    IncomingBody(const RequestHead& head, std::size_t bytes_max);

    /// Consumes the bytes of the body from the front of `received`. Remaining bytes must be passed again,
    /// with more data appended, or follow the body. Refusals: 400 (malformed chunks), 413.
    std::optional<Refusal> consume(std::string& received);

    [[nodiscard]] bool is_complete() const { return step_ == Step::complete; }
    [[nodiscard]] std::size_t bytes() const { return body_.size(); }
    [[nodiscard]] std::string take_body() { return std::move(body_); }

private:
    enum class Step : uint8_t {
        size,    ///< expects a chunk-size line
        data,    ///< expects the data of a chunk, or of the complete body if not chunked
        end,     ///< expects the line end after a chunk's data
        trailer, ///< expects a trailer line, or the empty line that ends the trailer
        complete,
    };

    std::optional<Refusal> consume_data(std::string_view available, std::size_t& used);
    std::optional<Refusal> consume_line(std::string_view line);

    std::size_t bytes_max_;
    bool is_chunked_;
    Step step_;
    uint64_t data_bytes_left_ = 0; ///< of the current chunk, or of the body if not chunked
    std::size_t trailer_bytes_ = 0;
    std::string body_;
};

/// Incremental parser for a connection's next request. Never blocks. Not thread-safe.
class IncomingRequest {
public:
    enum class Stage : uint8_t { none, head, body, complete };

    /// `budget` is that of all requests; the first MemoryReservation::uncounted_bytes of each body are not
    /// counted.
    explicit IncomingRequest(std::shared_ptr<MemoryBudget> budget) : reservation_(std::move(budget)) {}

    /// Consumes the next received bytes, possibly none. Empty lines before a head are skipped (RFC 9112,
    /// 2.2). Refusals: those of read_head() and IncomingBody, 431 (the head), 503 (all bodies together).
    std::optional<Refusal> feed(std::string_view bytes, const IncomingLimits& limits);

    [[nodiscard]] Stage stage() const;
    [[nodiscard]] std::size_t body_bytes() const { return body_ ? body_->bytes() : 0; }

    /// Whether the client waits for 100 Continue before it sends its body; returns true once.
    [[nodiscard]] bool must_send_continue();

    /// Returns the part of the request that is parsed, without its body; for the response to a refusal.
    [[nodiscard]] HttpRequest partial_request() const;

    /// Returns the request with its memory reservation. Precondition: stage() is complete.
    [[nodiscard]] ReceivedRequest take_request();

private:
    std::optional<Refusal> parse_head(std::size_t searched_bytes, const IncomingLimits& limits);

    std::string received_; ///< received but not yet parsed
    RequestHead head_;
    std::optional<IncomingBody> body_; ///< set once the head is parsed
    MemoryReservation reservation_;
};

} // namespace etna::server
