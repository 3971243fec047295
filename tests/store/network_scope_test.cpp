// From where an address can be reached.
#include "core/store/network_scope.hpp"
#include "tests/support/catch.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

using namespace etna::store;

TEST_CASE("loopback, link-local and unspecified addresses are of this machine, in every spelling") {
    for (const char* host : {"127.0.0.1",
                             "127.8.8.8",
                             "127.1",
                             "0x7f000001",
                             "2130706433",
                             "017700000001",
                             "0.0.0.0",
                             "0",
                             "169.254.169.254",
                             "224.0.0.1",
                             "255.255.255.255",
                             "localhost",
                             "LOCALHOST",
                             "localhost.",
                             "api.localhost",
                             "::1",
                             "[::1]",
                             "::",
                             "fe80::1",
                             "fe80::1%eth0",
                             "ff02::1",
                             "::ffff:127.0.0.1",
                             "::ffff:7f00:1",
                             "[::ffff:169.254.169.254]",
                             "64:ff9b::127.0.0.1",
                             "2002:7f00:1::",
                             "::127.0.0.1"}) {
        CAPTURE(host);
        CHECK(scope_of_host(host) == NetworkScope::host);
    }
}

TEST_CASE("private networks are a site") {
    for (const char* host : {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1",
                             "100.64.0.1", "198.18.0.1", "192.0.0.8", "fd00::1", "fc00::1", "fec0::1",
                             "::ffff:10.0.0.1", "64:ff9b::c0a8:101", "2002:c0a8:101::1"}) {
        CAPTURE(host);
        CHECK(scope_of_host(host) == NetworkScope::site);
    }
}

TEST_CASE("other addresses are public, and names have no scope before they are resolved") {
    for (const char* host : {"8.8.8.8", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0",
                             "172.15.255.255", "172.32.0.0", "100.128.0.0", "169.253.0.0", "223.255.255.255",
                             "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::"}) {
        CAPTURE(host);
        CHECK(scope_of_host(host) == NetworkScope::internet);
    }
    for (const char* host :
         {"huggingface.co", "localhost.example.com", "notlocalhost", "127.0.0.1.example", ""})
        CHECK_FALSE(scope_of_host(host).has_value());
    CHECK(NetworkScope::host < NetworkScope::site);
    CHECK(NetworkScope::site < NetworkScope::internet);
}

TEST_CASE("a socket's address has a scope") {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(scope_of(reinterpret_cast<const sockaddr&>(ipv4)) == NetworkScope::host);
    ipv4.sin_addr.s_addr = htonl(0x08080808);
    CHECK(scope_of(reinterpret_cast<const sockaddr&>(ipv4)) == NetworkScope::internet);
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, "::ffff:192.168.0.1", &ipv6.sin6_addr);
    CHECK(scope_of(reinterpret_cast<const sockaddr&>(ipv6)) == NetworkScope::site);
    sockaddr local{};
    local.sa_family = AF_UNIX;
    CHECK(scope_of(local) == NetworkScope::host);
}
