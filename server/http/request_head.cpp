#include "server/http/request_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace etna::server {
namespace {

bool is_letter_or_digit(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
}

/// RFC 3986, 3.2.2 and 3.2.3: a name or an address, IPv6 in brackets, and an optional port. May be empty (RFC
/// 9112, 3.2).
bool is_authority(std::string_view text) {
    constexpr std::string_view in_names = "-._~%!$&'()*+,;=";
    const bool has_brackets = text.starts_with('[');
    const std::size_t end = has_brackets ? text.find(']') : std::min(text.find(':'), text.size());
    if (end == std::string_view::npos)
        return false;
    const std::string host(has_brackets ? text.substr(1, end - 1) : text.substr(0, end));
    const std::string_view port = text.substr(has_brackets ? end + 1 : end);
    in6_addr ignored{};
    const bool is_host = has_brackets ? ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1
                                      : std::all_of(host.begin(), host.end(), [&](char letter) {
                                            return is_letter_or_digit(letter) ||
                                                   in_names.find(letter) != std::string_view::npos;
                                        });
    return is_host && (port.empty() || port.starts_with(':')) &&
           port.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t";
    const std::size_t begin = std::min(text.find_first_not_of(blank), text.size());
    return text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// Whether a list header such as `Connection` contains the element, given in lower case.
bool list_contains(std::string_view list, std::string_view element) {
    while (true) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (to_lower(trimmed(list.substr(0, comma))) == element)
            return true;
        if (comma == list.size())
            return false;
        list.remove_prefix(comma + 1);
    }
}

/// "%41" -> "A"; invalid escapes stay unchanged.
std::string decoded(std::string_view text) {
    constexpr int base = 16;
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view digits = text.substr(i + 1, 2);
        unsigned code = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
        if (text[i] == '%' && digits.size() == 2 && read.ptr == digits.data() + 2) {
            plain += static_cast<char>(code);
            i += 2;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/// Parses "?a=1&b" to names and values; a plus sign decodes to a space, as in forms. Text after `#` is
/// ignored.
std::vector<std::pair<std::string, std::string>> read_query(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> query;
    if (!text.starts_with('?'))
        return query;
    text = text.substr(1, text.find('#') - 1);
    while (!text.empty()) {
        std::string pair(text.substr(0, text.find('&')));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
        std::replace(pair.begin(), pair.end(), '+', ' ');
        const std::size_t equals = std::min(pair.find('='), pair.size());
        if (!pair.empty()) {
            query.emplace_back(decoded(std::string_view(pair).substr(0, equals)),
                               decoded(std::string_view(pair).substr(std::min(equals + 1, pair.size()))));
        }
    }
    return query;
}

/// Removes and returns the next line, without its line end; every line has one.
std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find(line_end));
    text.remove_prefix(std::min(line.size() + line_end.size(), text.size()));
    return line;
}

/// Removes the scheme and the authority of an absolute-form target, and returns the authority.
std::optional<std::string_view> take_authority(std::string_view& target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (to_lower(target.substr(0, scheme.size())) != scheme)
            continue;
        const std::string_view rest = target.substr(scheme.size());
        const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
        target = rest.substr(authority.size());
        return authority;
    }
    return std::nullopt;
}

/// Parses the request line; `authority` is that of an absolute-form target.
std::optional<Refusal> read_request_line(std::string_view line, RequestHead& head,
                                         std::optional<std::string_view>& authority) {
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const std::string_view method = line.substr(0, first);
    const std::string_view version = line.substr(std::min(second + 1, line.size()));
    if (first == line.size() || !is_token(method) || (version != "HTTP/1.1" && version != "HTTP/1.0"))
        return Refusal{.problem = "malformed request line"};
    std::string_view target = line.substr(first + 1, second - first - 1);
    if (target.size() > target_bytes_max) {
        return Refusal{.status = 414,
                       .problem = fmt::format("the request target exceeds {} bytes", target_bytes_max)};
    }
    authority = take_authority(target);
    if (authority && (authority->empty() || authority->find('@') != std::string_view::npos))
        return Refusal{.problem = "the request target has no valid host"};
    const std::string_view path = target.substr(0, target.find_first_of("?#"));
    const bool is_path = path.starts_with('/') || path == "*" || (path.empty() && authority);
    if (!is_path || !is_value(target) || target.find('\t') != std::string_view::npos)
        return Refusal{.problem = "the request target is not a path"};
    head.request.method = method;
    head.request.path = path.empty() ? "/" : decoded(path);
    head.request.query = read_query(target.substr(path.size()));
    head.is_http_1_0 = version == "HTTP/1.0";
    return std::nullopt;
}

/// Single-value headers, of which the first line counts. Lines of any other header are joined to one list
/// (RFC 9110, 5.3).
constexpr std::array<std::string_view, 9> single_headers = {"access-control-request-headers",
                                                            "access-control-request-method",
                                                            "authorization",
                                                            "content-encoding",
                                                            "content-length",
                                                            "content-type",
                                                            "expect",
                                                            "origin",
                                                            "x-api-key"};

std::optional<Refusal> add_header(std::string_view line, Headers& headers) {
    if (auto refusal = check_header(line))
        return refusal;
    const std::size_t colon = line.find(':');
    const std::string_view value = trimmed(line.substr(colon + 1));
    const std::string key = to_lower(line.substr(0, colon));
    const auto [entry, is_new] = headers.emplace(key, value);
    if (is_new)
        return std::nullopt;
    if (key == "host" || key == "transfer-encoding") {
        return Refusal{.problem =
                           fmt::format("duplicate {} header", key == "host" ? "Host" : "Transfer-Encoding")};
    } else if (key == "content-length" && entry->second != value) {
        return Refusal{.problem = "conflicting Content-Length headers"};
    } else if (std::find(single_headers.begin(), single_headers.end(), key) == single_headers.end()) {
        entry->second.append(", ").append(value);
    }
    return std::nullopt;
}

/// Determines the body's framing (RFC 9112, 6.3).
std::optional<Refusal> read_framing(RequestHead& head) {
    const std::string_view length = head.request.header("content-length");
    const bool is_number =
        !length.empty() && length.find_first_not_of("0123456789") == std::string_view::npos;
    if (head.request.headers.contains("content-length") && !is_number)
        return Refusal{.problem = "Content-Length is not a number"};
    if (is_number) {
        const auto read = std::from_chars(length.data(), length.data() + length.size(), head.body_bytes);
        if (read.ec != std::errc()) // over every limit
            head.body_bytes = std::numeric_limits<uint64_t>::max();
    }
    if (!head.request.headers.contains("transfer-encoding"))
        return std::nullopt;
    if (is_number)
        return Refusal{.problem = "the request has both Content-Length and Transfer-Encoding"};
    if (head.is_http_1_0)
        return Refusal{.problem = "HTTP/1.0 does not support Transfer-Encoding"};
    head.is_chunked = to_lower(head.request.header("transfer-encoding")) == "chunked";
    if (!head.is_chunked)
        return Refusal{.status = 501, .problem = "unsupported Transfer-Encoding: only chunked is supported"};
    return std::nullopt;
}

/// The value of the first complete header line with this name, given in lower case.
std::string_view value_in(std::string_view text, std::string_view name) {
    while (text.find(line_end) != std::string_view::npos) {
        const std::string_view line = next_line(text);
        const std::size_t colon = line.find(':');
        if (colon == name.size() && to_lower(line.substr(0, colon)) == name)
            return trimmed(line.substr(colon + 1));
    }
    return {};
}

} // namespace

bool is_token(std::string_view text) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char letter) {
        return is_letter_or_digit(letter) || others.find(letter) != std::string_view::npos;
    });
}

bool is_value(std::string_view text) {
    constexpr char delete_character = 0x7f;
    return std::all_of(text.begin(), text.end(), [](char letter) {
        return letter == '\t' || (static_cast<unsigned char>(letter) >= ' ' && letter != delete_character);
    });
}

std::optional<Refusal> check_header(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (line.size() > header_line_bytes_max) {
        return Refusal{.status = 431,
                       .problem = fmt::format("a header exceeds {} bytes", header_line_bytes_max)};
    }
    // Parsers disagree about white space before the colon and at the start of a line.
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
        return Refusal{.problem = "a header name is missing or contains invalid characters"};
    if (!is_value(line.substr(colon + 1)))
        return Refusal{.problem = "a header value contains control characters"};
    return std::nullopt;
}

HttpRequest read_partial_head(std::string_view text) {
    RequestHead head;
    std::optional<std::string_view> authority;
    if (text.find(line_end) == std::string_view::npos || read_request_line(next_line(text), head, authority))
        return {};
    if (const std::string_view id = value_in(text, "x-request-id"); !id.empty())
        head.request.headers.emplace("x-request-id", id);
    return std::move(head.request);
}

std::variant<RequestHead, Refusal> read_head(std::string_view text) {
    RequestHead head;
    std::optional<std::string_view> authority;
    if (auto refusal = read_request_line(next_line(text), head, authority))
        return std::move(*refusal);
    Headers& headers = head.request.headers;
    for (std::size_t count = 0; !text.empty(); ++count) {
        if (count == headers_max) {
            return Refusal{.status = 431,
                           .problem = fmt::format("the request has more than {} headers", headers_max)};
        }
        if (auto refusal = add_header(next_line(text), headers))
            return std::move(*refusal);
    }
    if (!head.is_http_1_0 && !headers.contains("host"))
        return Refusal{.problem = "missing Host header"};
    if (authority)
        headers["host"] = *authority;
    if (!is_authority(head.request.header("host")))
        return Refusal{.problem = "the Host header is not a valid host"};
    if (auto refusal = read_framing(head))
        return std::move(*refusal);
    const std::string_view connection = head.request.header("connection");
    head.closes_after_it =
        list_contains(connection, "close") || (head.is_http_1_0 && !list_contains(connection, "keep-alive"));
    head.awaits_continue = !head.is_http_1_0 && to_lower(head.request.header("expect")) == "100-continue";
    return head;
}

} // namespace etna::server
