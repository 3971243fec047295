#pragma once

#include "server/incoming_body.hpp"
#include "server/memory_share.hpp"
#include "server/request_head.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {

/// A request that has come whole, and what came behind it on its connection.
struct Arrival {
    RequestHead head = {}; ///< with the body in its request
    std::string rest = {};
};

/// What the requests that are on their way may have, each and together.
struct IncomingBounds {
    std::size_t header_bytes_max = 0;
    /// How many bytes a body may have, by method and path. Must not block.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max = {};
};

/// What has come of a connection's next request. Waits for nothing. Not thread-safe.
class IncomingRequest {
public:
    enum class Stage : uint8_t { none, head, body, whole };

    /// `memory` is what all requests may hold together; of each body, the first
    /// MemoryShare::uncounted_bytes are not counted.
    explicit IncomingRequest(std::shared_ptr<MemoryTotal> memory) : share_(std::move(memory)) {}

    /// Takes the bytes that came next, which may be none. Empty lines before a head are skipped (RFC 9112,
    /// 2.2). Refusals: those of read_head() and IncomingBody, 431 (the head), 503 (all bodies together).
    std::optional<Refusal> take(std::string_view bytes, const IncomingBounds& bounds);

    [[nodiscard]] Stage stage() const;
    [[nodiscard]] std::size_t body_bytes() const { return body_ ? body_->bytes() : 0; }

    /// Whether the client waits for leave to send its body; true once.
    [[nodiscard]] bool take_wish_to_continue();

    /// What has been understood of it, without its body: for whoever tells the client that it is refused.
    [[nodiscard]] HttpRequest seen() const;

    /// With its share of the memory. Precondition: whole.
    [[nodiscard]] Arrival take_arrival();

private:
    std::optional<Refusal> take_head(std::size_t searched, const IncomingBounds& bounds);

    std::string received_; ///< and not understood yet
    RequestHead head_;
    std::optional<IncomingBody> body_; ///< once the head is known
    MemoryShare share_;
};

} // namespace etna::server
