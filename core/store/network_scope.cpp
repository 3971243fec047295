#include "core/store/network_scope.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace etna::store {
namespace {

struct Network4 {
    uint32_t address; ///< in host byte order
    unsigned bits;
    NetworkScope scope;
};

constexpr uint32_t ipv4(uint32_t a, uint32_t b = 0, uint32_t c = 0) {
    return a << 24 | b << 16 | c << 8;
}

constexpr std::array networks4{
    Network4{ipv4(0), 8, NetworkScope::host},         Network4{ipv4(127), 8, NetworkScope::host},
    Network4{ipv4(169, 254), 16, NetworkScope::host}, Network4{ipv4(224), 3, NetworkScope::host},
    Network4{ipv4(10), 8, NetworkScope::site},        Network4{ipv4(100, 64), 10, NetworkScope::site},
    Network4{ipv4(172, 16), 12, NetworkScope::site},  Network4{ipv4(192, 0, 0), 24, NetworkScope::site},
    Network4{ipv4(192, 168), 16, NetworkScope::site}, Network4{ipv4(198, 18), 15, NetworkScope::site},
};

NetworkScope scope_of_ipv4(uint32_t address) {
    const auto* const found = std::find_if(networks4.begin(), networks4.end(), [&](const Network4& network) {
        return (address ^ network.address) >> (32 - network.bits) == 0;
    });
    return found == networks4.end() ? NetworkScope::internet : found->scope;
}

/// A prefix of an IPv6 address, and the position of an IPv4 address in those that have it.
struct Network6 {
    std::array<uint8_t, 12> prefix;
    std::size_t bytes;
    std::size_t ipv4_at;
};

constexpr std::array embedding_networks{
    Network6{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 12, 12}, // mapped
    Network6{{0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0}, 12, 12}, // translated
    Network6{{0, 0x64, 0xFF, 0x9B}, 12, 12},                      // NAT64
    Network6{{0x20, 0x02}, 2, 2},                                 // 6to4
    Network6{{}, 12, 12}, // compatible; also loopback and unspecified, as 0.0.0.0/8
};

NetworkScope scope_of_ipv6(const in6_addr& address) {
    const uint8_t* const bytes = address.s6_addr;
    for (const Network6& network : embedding_networks) {
        if (!std::equal(bytes, bytes + network.bytes, network.prefix.begin()))
            continue;
        uint32_t inner = 0;
        std::memcpy(&inner, bytes + network.ipv4_at, sizeof inner);
        return scope_of_ipv4(ntohl(inner));
    }
    const bool is_link_local = bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
    if (is_link_local || bytes[0] == 0xFF)
        return NetworkScope::host;
    const bool is_site_local = bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0xC0;
    const bool is_unique_local = (bytes[0] & 0xFE) == 0xFC;
    return is_site_local || is_unique_local ? NetworkScope::site : NetworkScope::internet;
}

} // namespace

NetworkScope scope_of(const sockaddr& address) {
    if (address.sa_family == AF_INET)
        return scope_of_ipv4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
    if (address.sa_family == AF_INET6)
        return scope_of_ipv6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
    return NetworkScope::host;
}

std::optional<NetworkScope> scope_of_host(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (host.ends_with('.'))
        host.remove_suffix(1);
    std::string text(host.substr(0, host.find('%'))); // without a zone
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    in6_addr ipv6{};
    if (::inet_pton(AF_INET6, text.c_str(), &ipv6) == 1)
        return scope_of_ipv6(ipv6);
    in_addr ipv4{};
    if (::inet_aton(text.c_str(), &ipv4) != 0) // also "127.1", "0x7f000001"
        return scope_of_ipv4(ntohl(ipv4.s_addr));
    if (text == "localhost" || text.ends_with(".localhost"))
        return NetworkScope::host;
    return std::nullopt;
}

} // namespace etna::store
