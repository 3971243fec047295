#pragma once

#include "server/http/incoming_body.hpp"
#include "server/http/request_head.hpp"
#include "server/memory_share.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {

/// A completely received request, and the bytes that followed it on the connection.
struct Arrival {
    RequestHead head = {}; ///< its request contains the body
    std::string rest = {};
};

/// Limits for requests in transit.
struct IncomingBounds {
    std::size_t header_bytes_max = 0;
    /// Maximum body size in bytes, by method and path. Must not block.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max = {};
};

/// Incremental parser for a connection's next request. Never blocks. Not thread-safe.
class IncomingRequest {
public:
    enum class Stage : uint8_t { none, head, body, whole };

    /// `memory` is the budget of all requests together; the first MemoryShare::uncounted_bytes of each body
    /// are not counted.
    explicit IncomingRequest(std::shared_ptr<MemoryTotal> memory) : share_(std::move(memory)) {}

    /// Consumes the next received bytes, possibly none. Empty lines before a head are skipped (RFC 9112,
    /// 2.2). Refusals: those of read_head() and IncomingBody, 431 (the head), 503 (all bodies together).
    std::optional<Refusal> take(std::string_view bytes, const IncomingBounds& bounds);

    [[nodiscard]] Stage stage() const;
    [[nodiscard]] std::size_t body_bytes() const { return body_ ? body_->bytes() : 0; }

    /// Whether the client waits for 100 Continue before it sends its body; returns true once.
    [[nodiscard]] bool read_continuation();

    /// What has been parsed of the request, without its body; for the response to a refusal.
    [[nodiscard]] HttpRequest seen() const;

    /// Returns the request with its share of the memory budget. Precondition: stage() is whole.
    [[nodiscard]] Arrival take_arrival();

private:
    std::optional<Refusal> take_head(std::size_t searched, const IncomingBounds& bounds);

    std::string received_; ///< received but not yet parsed
    RequestHead head_;
    std::optional<IncomingBody> body_; ///< once the head is known
    MemoryShare share_;
};

} // namespace etna::server
