#pragma once

#include "server/http.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace etna::server {

/// Why a request is not taken: the status of the answer, and one clause for people.
struct Refusal {
    int status = 400;
    std::string problem = {};
    HttpRequest request = {}; ///< what is known of it, without its body
};

/// What a head of a request says: the request without its body, and how that is framed.
struct RequestHead {
    HttpRequest request = {};
    bool is_http_1_0 = false;
    bool is_chunked = false;
    uint64_t body_bytes = 0;      ///< of a body that is not chunked; 0 where the head tells of none
    bool awaits_continue = false; ///< the client sends its body when it is told to go on
    bool closes_after_it = false; ///< the client wants no further request on the connection
};

/// Reads the first `text.size()` bytes of a connection: the lines of a head, each with its CRLF, without the
/// empty line that ends it. Strict (RFC 9112, 2 to 6, and 9110, 7): what two readers could understand in two
/// ways is refused, so that a proxy before this server never takes the end of one request for the beginning
/// of another. A target in absolute form is taken, and its authority is then the Host. Refusals: 400, 414
/// (target), 431 (a header, or how many), 501 (a transfer coding other than chunked).
std::variant<RequestHead, Refusal> read_head(std::string_view text);

/// What a head that did not come whole, or is refused, says of its request: method and path of its first line
/// and `x-request-id`, where they can be read; for answers and logs.
HttpRequest glimpse(std::string_view text);

/// What is wrong with a line of a head or a trailer, given without its end: 400, 431.
std::optional<Refusal> check_header(std::string_view line);

/// RFC 9110, 5.6.2: what names and methods are made of.
bool is_token(std::string_view text);

/// RFC 9110, 5.5: no control characters but the tab. A lone CR or LF is one, too.
bool is_value(std::string_view text);

constexpr std::size_t target_bytes_max = 2048;
constexpr std::size_t header_line_bytes_max = 8192;
constexpr std::size_t headers_max = 100;

} // namespace etna::server
