#pragma once

#include "server/http/http.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace etna::server {

constexpr std::string_view line_end = "\r\n";

/// Why a request is refused: the response status and a human-readable clause.
struct Refusal {
    int status = 400;
    std::string problem = {};
    HttpRequest request = {}; ///< the parsed part, without the body
};

/// A parsed request head: the request without its body, and the body's framing.
struct RequestHead {
    HttpRequest request = {};
    bool is_http_1_0 = false;
    bool is_chunked = false;
    uint64_t body_bytes = 0;      ///< the Content-Length; 0 if absent or chunked
    bool awaits_continue = false; ///< the client waits for 100 Continue before it sends its body
    bool closes_after_it = false; ///< the connection closes after this request
};

/// Parses the lines of a head, each with its CRLF, without the empty line that ends it. Strict (RFC 9112, 2
/// to 6, and 9110, 7): ambiguous framing is refused, to rule out request smuggling through a proxy. An
/// absolute-form target is accepted, and its authority becomes the Host. Refusals: 400, 414 (target), 431
/// (header size or count), 501 (a transfer coding other than chunked).
std::variant<RequestHead, Refusal> read_head(std::string_view text);

/// Best-effort parse of an incomplete or refused head: method and path of its first line and `x-request-id`,
/// if readable; for responses and logs.
HttpRequest read_partial_head(std::string_view text);

/// Validates a line of a head or a trailer, given without its line end. Refusals: 400, 431.
std::optional<Refusal> check_header(std::string_view line);

/// RFC 9110, 5.6.2: the syntax of names and methods.
bool is_token(std::string_view text);

/// RFC 9110, 5.5: no control characters but the tab. A lone CR or LF is one, too.
bool is_value(std::string_view text);

constexpr std::size_t target_bytes_max = 2048;
constexpr std::size_t header_line_bytes_max = 8192;
constexpr std::size_t headers_max = 100;

} // namespace etna::server
