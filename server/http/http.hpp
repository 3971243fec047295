#pragma once

#include "core/base/json.hpp"
#include "server/base/lower_case.hpp"
#include "server/base/memory_budget.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// HTTP as endpoints see it; independent of sockets and of the HTTP library.
namespace etna::server {

/// The peer's side of a connection.
enum class PeerState : uint8_t {
    open,
    half_closed, ///< it has stopped sending; only a write can show whether it still reads
    gone,        ///< reset or failed
};

/// The status of a request whose client disconnected before the response was complete; used in logs and
/// metrics only. The number is nginx's.
constexpr int client_closed_status = 499;

/// Headers by lower-case name. If a request repeats a header, the first counts; a repeated `Host` is refused.
using Headers = std::map<std::string, std::string, std::less<>>;

/// A completely received request.
struct HttpRequest {
    std::string method = {};                                     ///< "GET"
    std::string path = {};                                       ///< decoded, without the query
    std::vector<std::pair<std::string, std::string>> query = {}; ///< decoded, in order; a value may be empty
    Headers headers = {};
    std::string body = {};
    /// The body as a value, from a caller that has parsed it; then `body` is empty. Null: `body` counts.
    std::shared_ptr<const Json> parsed_body = {};
    std::string remote_address = {}; ///< for logs
    std::string remote_network = {}; ///< see Socket::remote_network()
    int32_t priority = 0;            ///< added to the priority that the body names; not from the network
    /// Whether the client has disconnected: the connection was reset, or closed in both directions. A client
    /// that closed only its sending half still waits. Cheap enough to poll many times a second. Valid until
    /// the response is returned; after that, use HttpWriter::write().
    std::function<bool()> is_client_gone = [] { return false; };
    /// The request's part of the memory budget. Code that retains the request, or data derived from it, after
    /// the response is returned must hold this too. Null: memory is not counted.
    std::shared_ptr<MemoryReservation> memory = {};

    /// See MemoryReservation::reserve().
    [[nodiscard]] bool reserve_memory(std::size_t bytes) const {
        return memory == nullptr || memory->reserve(bytes);
    }

    /// The header's value; empty if absent.
    [[nodiscard]] std::string_view header(std::string_view name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view() : std::string_view(found->second);
    }
};

/// The sink of a streamed body. A write blocks while the client does not read, for at most the connection's
/// write timeout.
class HttpWriter {
public:
    HttpWriter() = default;
    HttpWriter(const HttpWriter&) = delete;
    HttpWriter& operator=(const HttpWriter&) = delete;
    virtual ~HttpWriter() = default;

    /// Returns false if the client has disconnected; later writes are dropped.
    virtual bool write(std::string_view bytes) = 0;

    /// The client's state, determined without writing.
    virtual PeerState peer() = 0;
};

/// A response: status, headers, and a complete or streamed body.
struct HttpResponse {
    int status = 200;
    Headers headers = {};
    std::string content_type = "application/json";
    std::string body = {};
    /// Streams the body after the headers have been sent; replaces `body`. Called at most once, on the
    /// connection's thread; never if the client disconnects first.
    std::function<void(HttpWriter&)> stream = {};
};

/// Sanitizes text for a header value: visible ASCII, at most a kilobyte.
std::string header_value(std::string_view text);

} // namespace etna::server
