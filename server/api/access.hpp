#pragma once

#include "server/base/api_error.hpp"
#include "server/http/http.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server {

/// A CIDR range: the IP addresses that share the first `prefix_bits` bits of `address`. IPv4 addresses are
/// mapped into IPv6 (RFC 4291, 2.5.5.2).
struct AddressRange {
    static constexpr uint32_t address_bytes = 16;
    std::array<uint8_t, address_bytes> address = {};
    uint32_t prefix_bits = 0; ///< 0 to 128
};

/// Parses "ADDRESS" or "ADDRESS/BITS", IPv4 or IPv6. Empty if the text is neither.
std::optional<AddressRange> address_range(std::string_view text);

/// Returns whether the range contains the address, given in the form of Socket::remote_address().
bool is_within(const AddressRange& range, std::string_view address);

/// Access control: hosts, API keys, CORS origins and trusted proxies.
struct AccessRules {
    std::string host = "127.0.0.1"; ///< the bind address, in the form of host_rule()
    std::vector<std::string> allowed_hosts =
        {}; ///< additional accepted Host names, in the form of host_rule(); "*": any
    std::vector<std::string> api_keys = {}; ///< any of them grants access; empty: no key is required
    std::vector<std::string> operator_keys =
        {}; ///< those of `api_keys` that are the operator's; empty: see is_operator()
    std::vector<std::string> cors_origins =
        {}; ///< origins that may read responses; "*": all; empty: same-origin only
    /// The header in which a reverse proxy identifies the client, in lower case; empty: no header is used.
    std::string client_header = {};
    std::vector<AddressRange> trusted_proxies = {}; ///< may set `client_header`, as may loopback
};

/// Normalizes a host name or address for comparison with Host headers: lower case, IPv6 without brackets. "*"
/// means any. Empty if the text is not a bare host: with a port, a scheme or a path.
std::optional<std::string> host_rule(std::string_view host);

/// Normalizes an origin: lower case, no trailing slash. Empty if the text is neither an origin
/// (SCHEME://HOST[:PORT]), nor "*", nor "null".
std::optional<std::string> origin_rule(std::string_view origin);

/// Returns the header name in lower case. Empty if the text is not a valid header name.
std::optional<std::string> client_header_rule(std::string_view name);

/// Returns whether `host` is a loopback address: "localhost", "127.0.0.1", "::1".
bool is_loopback(std::string_view host);

/// Checks that the request's Host is one of this server's names and that its Origin, if present, is the
/// server's own or allowed. This blocks cross-site requests, including DNS rebinding. Any Host is accepted if
/// API keys are required, because a hostile page has none, and if the server is bound to more than loopback,
/// because an attacker who can point a name at it can also send requests directly. Error: 403.
std::optional<ApiError> check_origin(const AccessRules& rules, const HttpRequest& request);

/// Returns the request's API key: `Authorization: Bearer KEY` or `x-api-key: KEY`; empty if it has none.
std::string_view given_key(const HttpRequest& request);

/// Maximum bytes of the last element of AccessRules::client_header that identify a client; the rest is
/// ignored.
constexpr std::size_t client_name_bytes_max = 256;

/// Identifies the client of a request for fair sharing: the API key, if keys are in use; else the value of
/// the client header, if a trusted proxy sent one; else the peer's address, for IPv6 its /64 network, because
/// one client controls all addresses of it.
uint64_t client_of(const AccessRules& rules, const HttpRequest& request);

/// Returns a name of the client for people: its key's number ("key 2"), never the key; else the value of the
/// client header, if a trusted proxy sent one; else the peer's address.
std::string client_label(const AccessRules& rules, const HttpRequest& request);

/// As client_of(), before check_key(): a request without a valid key is identified by its address.
uint64_t client_of_any(const AccessRules& rules, const HttpRequest& request);

/// Checks the request's API key. Error: 401.
std::optional<ApiError> check_key(const AccessRules& rules, const HttpRequest& request);

/// Whether a request's peer is on this machine, and names no other client that it forwards.
bool is_local(const AccessRules& rules, const HttpRequest& request);

/// Whether a request may change what all clients share: which models are in memory, and which are stored. It
/// has one of AccessRules::operator_keys. Without such keys, its peer is on this machine and names no other
/// client that it forwards; and without any keys, every client may. Precondition: check_key() accepts it.
bool is_operator(const AccessRules& rules, const HttpRequest& request);

/// Checks is_operator(). `verb`: what the request asks for, "unloading a model". Error: 403.
std::optional<ApiError> check_operator(const AccessRules& rules, const HttpRequest& request,
                                       std::string_view verb);

/// The CORS headers that let the requesting page read the response; none if its origin is not allowed.
Headers cors_headers(const AccessRules& rules, const HttpRequest& request);

} // namespace etna::server
