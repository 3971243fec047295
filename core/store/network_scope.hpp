#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

struct sockaddr;

namespace etna::store {

/// From where an address can be reached. A greater scope includes the smaller ones.
enum class NetworkScope : uint8_t {
    host,     ///< this machine, or one on the same link: loopback, link-local, unspecified, multicast
    site,     ///< a private network
    internet, ///< everywhere
};

/// Returns the scope of an IPv4 or IPv6 address; `host` for other families. IPv4 addresses inside IPv6 ones
/// (mapped, NAT64, 6to4) count as IPv4. Source: the IANA special-purpose address registries (RFC 6890).
NetworkScope scope_of(const sockaddr& address);

/// As scope_of(), for the host of an address as text: "127.0.0.1", "127.1", "[::1]", "localhost". Empty for
/// names, whose scope is known only once they are resolved.
std::optional<NetworkScope> scope_of_host(std::string_view host);

} // namespace etna::store
