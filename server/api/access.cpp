#include "server/api/access.hpp"

#include "server/base/ids.hpp"
#include "server/http/request_head.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace etna::server {
namespace {

/// "[::1]:8080" -> "::1", "localhost:80" -> "localhost".
std::string_view without_port(std::string_view host) {
    if (host.starts_with('['))
        return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.rfind(':'));
}

bool is_address(std::string_view host) {
    const std::string text(host);
    in6_addr ignored{};
    return ::inet_pton(AF_INET, text.c_str(), &ignored) == 1 ||
           ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

/// DNS rebinding is a threat only to a loopback server without API keys: any other server can be reached
/// without it, or refuses a page that has no key.
bool accepts_any_host(const AccessRules& rules) {
    return !rules.api_keys.empty() || !is_loopback(rules.host) || contains(rules.allowed_hosts, "*");
}

bool is_own_host(const AccessRules& rules, std::string_view host) {
    return accepts_any_host(rules) || host.empty() || is_loopback(host) ||
           contains(rules.allowed_hosts, host);
}

/// "https://example.org:8080" -> "example.org:8080".
std::string_view authority_of(std::string_view origin) {
    const std::size_t end = origin.find("://");
    return end == std::string_view::npos ? std::string_view() : origin.substr(end + 3);
}

bool may_read(const AccessRules& rules, std::string_view origin) {
    return contains(rules.cors_origins, to_lower(origin)) || contains(rules.cors_origins, "*");
}

using AddressBytes = decltype(AddressRange::address);

constexpr uint32_t bits_per_byte = 8;
constexpr uint32_t mapped_bytes = 12; ///< prefix before the four bytes of an IPv4 address

/// Empty if the text is not an address. A zone after `%`, as in link-local addresses, is ignored.
std::optional<AddressBytes> address_bytes(std::string_view text) {
    const std::string address(text.substr(0, text.find('%')));
    AddressBytes bytes{};
    if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1)
        return bytes;
    bytes = {};
    bytes[mapped_bytes - 2] = bytes[mapped_bytes - 1] = 0xff;
    if (::inet_pton(AF_INET, address.c_str(), bytes.data() + mapped_bytes) == 1)
        return bytes;
    return std::nullopt;
}

bool has_prefix(const AddressBytes& address, const AddressRange& range) {
    const std::size_t full_bytes = range.prefix_bits / bits_per_byte;
    const uint32_t rest = range.prefix_bits % bits_per_byte;
    if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(full_bytes),
                    range.address.begin()))
        return false;
    const auto differing =
        rest == 0 ? 0U : static_cast<unsigned>(address[full_bytes] ^ range.address[full_bytes]);
    return differing >> (bits_per_byte - rest) == 0;
}

/// The address in "ADDRESS", "[ADDRESS]", "[ADDRESS]:PORT" or "IPV4:PORT", else the text unchanged.
std::string_view without_brackets_and_port(std::string_view text) {
    const bool is_ipv6 = text.find(':') != text.rfind(':');
    if (text.starts_with('[') || !is_ipv6)
        return without_port(text);
    return text;
}

/// The last element of the header value, because proxies append and clients can forge the others.
std::string_view last_element(std::string_view value) {
    std::string_view name = value.substr(value.rfind(',') + 1);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    return name.substr(0, client_name_bytes_max);
}

/// The client's name in the last element of the header value. IPv6 addresses are reduced to the /64 network,
/// as for peers.
std::string client_name(std::string_view name) {
    constexpr std::size_t network_bytes = 8;
    const auto address = address_bytes(without_brackets_and_port(name));
    if (!address)
        return std::string(name);
    const bool is_ipv4 =
        has_prefix(*address, {.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, .prefix_bits = 96});
    const auto* const bytes = reinterpret_cast<const char*>(address->data());
    return is_ipv4 ? std::string(bytes + mapped_bytes, address->size() - mapped_bytes)
                   : std::string(bytes, network_bytes);
}

bool has_peer_within(std::span<const AddressRange> ranges, const HttpRequest& request) {
    return std::ranges::any_of(
        ranges, [&](const AddressRange& range) { return is_within(range, request.remote_address); });
}

bool has_local_peer(const HttpRequest& request) {
    constexpr std::array<AddressRange, 2> loopback = {{
        {.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127}, .prefix_bits = 104},  // 127.0.0.0/8
        {.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, .prefix_bits = 128}, // ::1
    }};
    return has_peer_within(loopback, request);
}

/// Whether a proxy sent the request for another client.
bool is_forwarded(const AccessRules& rules, const HttpRequest& request) {
    constexpr std::array<std::string_view, 4> headers = {"forwarded", "via", "x-forwarded-for", "x-real-ip"};
    return std::ranges::any_of(headers,
                               [&](std::string_view name) { return !request.header(name).empty(); }) ||
           (!rules.client_header.empty() && !request.header(rules.client_header).empty());
}

/// Compares all keys in constant time.
bool is_one_of(const std::vector<std::string>& keys, std::string_view given) {
    bool is_valid = false;
    for (const std::string& key : keys)
        is_valid = equal_in_constant_time(given, key) || is_valid;
    return is_valid;
}

/// The client as named by a trusted reverse proxy; empty if the peer is not trusted, or the header is absent.
std::string_view named_client(const AccessRules& rules, const HttpRequest& request) {
    if (rules.client_header.empty())
        return {};
    const bool is_trusted = has_local_peer(request) || has_peer_within(rules.trusted_proxies, request);
    return is_trusted ? last_element(request.header(rules.client_header)) : std::string_view();
}

/// All requested headers: a page that may read responses may send any, and SDKs send many.
std::string allowed_headers(const HttpRequest& request) {
    const std::string_view requested = request.header("access-control-request-headers");
    return requested.empty() ? "authorization, content-type" : header_value(requested);
}

ApiError forbidden(std::string message) {
    return {.status = 403, .message = std::move(message), .code = "forbidden"};
}

} // namespace

std::optional<AddressRange> address_range(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string_view address = text.substr(0, slash);
    const auto bytes = address.find('%') == std::string_view::npos ? address_bytes(address) : std::nullopt;
    if (!bytes)
        return std::nullopt;
    const bool is_ipv6 = address.find(':') != std::string_view::npos;
    const uint32_t mapped_bits = is_ipv6 ? 0 : bits_per_byte * mapped_bytes;
    const uint32_t bits_max = bits_per_byte * AddressRange::address_bytes - mapped_bits;
    uint32_t bits = bits_max;
    if (slash < text.size()) {
        const std::string_view digits = text.substr(slash + 1);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
        if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || bits > bits_max)
            return std::nullopt;
    }
    return AddressRange{.address = *bytes, .prefix_bits = mapped_bits + bits};
}

bool is_within(const AddressRange& range, std::string_view address) {
    const auto bytes = address_bytes(address);
    return bytes && has_prefix(*bytes, range);
}

std::optional<std::string> client_header_rule(std::string_view name) {
    const bool is_name = is_token(name) && name.size() <= header_line_bytes_max;
    return is_name ? std::optional(to_lower(name)) : std::nullopt;
}

std::optional<std::string> host_rule(std::string_view host) {
    std::string rule = to_lower(host);
    if (rule.starts_with('[') && rule.ends_with(']'))
        rule = rule.substr(1, rule.size() - 2);
    const bool is_name = !rule.empty() && rule.find_first_of("/:@[] ") == std::string::npos;
    return is_name || is_address(rule) ? std::optional(std::move(rule)) : std::nullopt;
}

std::optional<std::string> origin_rule(std::string_view origin) {
    std::string rule = to_lower(origin);
    if (rule.ends_with('/'))
        rule.pop_back();
    const std::string_view authority = authority_of(rule);
    const bool is_origin = !authority.empty() && authority.find_first_of("/@ ") == std::string_view::npos;
    return is_origin || rule == "*" || rule == "null" ? std::optional(std::move(rule)) : std::nullopt;
}

bool is_loopback(std::string_view host) {
    return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address(host));
}

std::optional<ApiError> check_origin(const AccessRules& rules, const HttpRequest& request) {
    const std::string host = to_lower(request.header("host"));
    if (!is_own_host(rules, without_port(host))) {
        return forbidden(fmt::format("Host `{0}` is not allowed; add --allowed-host {0}",
                                     header_value(without_port(host))));
    }
    const std::string_view origin = request.header("origin");
    if (!origin.empty() && to_lower(authority_of(origin)) != host && !may_read(rules, origin)) {
        return forbidden(fmt::format("cross-origin requests from `{0}` are not allowed; add --cors {0}",
                                     header_value(origin)));
    }
    return std::nullopt;
}

std::string_view given_key(const HttpRequest& request) {
    constexpr std::string_view scheme = "bearer ";
    const std::string_view authorization = request.header("authorization");
    return to_lower(authorization.substr(0, scheme.size())) == scheme ? authorization.substr(scheme.size())
                                                                      : request.header("x-api-key");
}

uint64_t client_of(const AccessRules& rules, const HttpRequest& request) {
    const std::hash<std::string_view> hash;
    if (!rules.api_keys.empty())
        return hash(given_key(request));
    if (const std::string name = client_name(named_client(rules, request)); !name.empty())
        return hash(fmt::format("{}: {}", rules.client_header, name)); // cannot collide with an address
    return hash(request.remote_network);
}

std::string client_label(const AccessRules& rules, const HttpRequest& request) {
    std::size_t number = 0; // of the key, from 1; all are compared, in constant time
    for (std::size_t i = 0; i < rules.api_keys.size(); ++i)
        number = equal_in_constant_time(given_key(request), rules.api_keys[i]) ? i + 1 : number;
    if (number > 0)
        return fmt::format("key {}", number);
    const std::string_view name = named_client(rules, request);
    return name.empty() ? request.remote_address : header_value(name);
}

uint64_t client_of_any(const AccessRules& rules, const HttpRequest& request) {
    return check_key(rules, request) ? std::hash<std::string_view>()(request.remote_network)
                                     : client_of(rules, request);
}

std::optional<ApiError> check_key(const AccessRules& rules, const HttpRequest& request) {
    if (rules.api_keys.empty())
        return std::nullopt;
    const std::string_view given = given_key(request);
    if (is_one_of(rules.api_keys, given))
        return std::nullopt;
    return ApiError{.status = 401,
                    .message = given.empty() ? "missing API key: send `Authorization: Bearer KEY`"
                                             : "invalid API key",
                    .code = "invalid_api_key"};
}

bool is_local(const AccessRules& rules, const HttpRequest& request) {
    return has_local_peer(request) && !is_forwarded(rules, request);
}

bool is_operator(const AccessRules& rules, const HttpRequest& request) {
    if (rules.api_keys.empty())
        return true;
    if (!rules.operator_keys.empty())
        return is_one_of(rules.operator_keys, given_key(request));
    return is_local(rules, request);
}

std::optional<ApiError> check_operator(const AccessRules& rules, const HttpRequest& request,
                                       std::string_view verb) {
    if (is_operator(rules, request))
        return std::nullopt;
    const std::string_view whose = rules.operator_keys.empty()
                                       ? "a client on the server's own machine"
                                       : "a key of the operator (--operator-key-file)";
    return ApiError{.status = 403,
                    .message = fmt::format("{} changes what all keys share: it takes {}", verb, whose),
                    .type = "permission_error",
                    .code = "operator_required"};
}

Headers cors_headers(const AccessRules& rules, const HttpRequest& request) {
    const std::string origin(request.header("origin"));
    if (origin.empty() || !may_read(rules, origin))
        return {};
    return {
        {"access-control-allow-origin", origin},
        {"access-control-allow-methods", "GET, HEAD, POST, DELETE, OPTIONS"},
        {"access-control-allow-headers", allowed_headers(request)},
        {"access-control-expose-headers",
         "x-request-id, etna-ignored, etna-adapted, etna-model, retry-after, retry-after-ms, x-should-retry"},
        {"access-control-max-age", "600"},
        {"vary", "Origin"}};
}

} // namespace etna::server
