#pragma once

#include "server/api_error.hpp"
#include "server/http.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server {

/// A range of IP addresses: those that begin with the first `prefix_bits` bits of `address`. IPv4 is mapped
/// into IPv6 (RFC 4291, 2.5.5.2).
struct AddressRange {
    static constexpr uint32_t address_bytes = 16;
    std::array<uint8_t, address_bytes> address = {};
    uint32_t prefix_bits = 0; ///< of 128
};

/// Reads "ADDRESS" or "ADDRESS/BITS", IPv4 or IPv6. Empty if the text is neither.
std::optional<AddressRange> address_range(std::string_view text);

/// Returns whether the range has the address, as Socket::remote_address() gives it.
bool is_within(const AddressRange& range, std::string_view address);

/// Who may ask.
struct AccessRules {
    std::string host = "127.0.0.1"; ///< what the server is bound to; as host_rule() gives it
    std::vector<std::string> allowed_hosts =
        {};                                 ///< further names that it is called by; as host_rule(); "*": any
    std::vector<std::string> api_keys = {}; ///< any of them opens; empty: no key is asked for
    std::vector<std::string> cors_origins =
        {}; ///< pages that may read answers; "*": all; empty: none but its own
    /// The header by which a reverse proxy names the client, in lower case; empty: no header counts.
    std::string client_header = {};
    std::vector<AddressRange> trusted_proxies = {}; ///< whose `client_header` counts, beside the loopback's
};

/// A name or address as Host headers are compared with it: in small letters, without the brackets of IPv6.
/// "*" is any. Empty for what is none: with a port, a scheme or a path.
std::optional<std::string> host_rule(std::string_view host);

/// The same for the origin of pages: small letters, no slash at the end. Empty for what is neither an origin
/// (SCHEME://HOST[:PORT]), nor "*", nor "null".
std::optional<std::string> origin_rule(std::string_view origin);

/// A header's name in lower case. Empty if the text is no such name.
std::optional<std::string> client_header_rule(std::string_view name);

/// Whether `host` is an address of this machine that no other can reach: "localhost", "127.0.0.1", "::1".
bool is_loopback(std::string_view host);

/// Whether the request's Host is one that this server goes by, and its Origin, if it has one, its own or one
/// that is allowed: a page of another site, even one whose name was made to point here, gets nothing. Any
/// Host will do where a key is asked for, which such a page has not, and where the server is bound to more
/// than the loopback: whoever can point a name at it can ask it without one. Error: 403.
std::optional<ApiError> check_origin(const AccessRules& rules, const HttpRequest& request);

/// The key that a request shows: `Authorization: Bearer KEY` or `x-api-key: KEY`; empty where it shows none.
std::string_view given_key(const HttpRequest& request);

/// How many bytes of the last element of AccessRules::client_header name a client; the rest does not count.
constexpr std::size_t client_name_bytes_max = 256;

/// Identifies the client of a request for fair sharing: the API key, if keys are in use; else the value of
/// the client header, if a trusted proxy sent one; else the peer's address, of IPv6 the /64 network, because
/// a client has as many addresses of that as it likes.
uint64_t client_of(const AccessRules& rules, const HttpRequest& request);

/// Whether the request shows a key that opens. Error: 401.
std::optional<ApiError> check_key(const AccessRules& rules, const HttpRequest& request);

/// The headers that let the request's page read the answer; none where it may not.
Headers cors_headers(const AccessRules& rules, const HttpRequest& request);

} // namespace etna::server
