#include "server/api/access.hpp"
#include "server/base/ids.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna::server;

namespace {

HttpRequest request(Headers headers) {
    return {.method = "POST", .path = "/", .headers = std::move(headers)};
}

} // namespace

TEST_CASE("a loopback server accepts only its own Host names") {
    const AccessRules local;
    for (const char* host :
         {"localhost", "localhost:8080", "127.0.0.1:1", "127.8.9.1", "[::1]", "[::1]:8080", ""})
        CHECK(!check_origin(local, request({{"host", host}})));
    for (const char* host : {"evil.example", "evil.example:8080", "192.168.1.5", "127.0.0.1.evil.example",
                             "localhost.evil", "[::2]"}) {
        CAPTURE(host);
        const auto refused = check_origin(local, request({{"host", host}}));
        REQUIRE(refused.has_value());
        CHECK(refused->status == 403);
    }
    CHECK(!check_origin({.allowed_hosts = {"box.lan"}}, request({{"host", "box.lan:8080"}})));
    CHECK(check_origin({.host = "::1"}, request({{"host", "evil.example"}})));
    const auto named = check_origin(local, request({{"host", "Evil.example:8080"}}));
    CHECK(named->message == "Host `evil.example` is not allowed; add --allowed-host evil.example");
}

TEST_CASE("any Host is accepted if DNS rebinding gains nothing") {
    const std::vector<AccessRules> open = {{.api_keys = {"key"}},
                                           {.host = "0.0.0.0"},
                                           {.host = "::"},
                                           {.host = "192.168.1.5"},
                                           {.allowed_hosts = {"box.lan", "*"}}};
    for (const AccessRules& rules : open) {
        for (const char* host : {"host.docker.internal:8080", "etna", "box.lan", "172.17.0.1:8080",
                                 "[fd00::1]", "localhost", ""}) {
            CAPTURE(rules.host, host);
            CHECK(!check_origin(rules, request({{"host", host}})));
        }
        CHECK(check_origin(rules, request({{"host", "etna"}, {"origin", "https://evil.example"}})));
    }
}

TEST_CASE("cross-origin requests are refused unless their origin is allowed") {
    const AccessRules local;
    CHECK(!check_origin(local, request({{"host", "localhost:8080"}, {"origin", "http://localhost:8080"}})));
    for (const char* origin : {"https://evil.example", "http://localhost:9999", "null", "file://"})
        CHECK(check_origin(local, request({{"host", "localhost:8080"}, {"origin", origin}})));
    const AccessRules open = {.cors_origins = {"https://app.example"}};
    const HttpRequest page = request({{"host", "localhost:8080"}, {"origin", "https://app.example"}});
    CHECK(!check_origin(open, page));
    CHECK(cors_headers(open, page).at("access-control-allow-origin") == "https://app.example");
    CHECK(cors_headers(open, page).at("access-control-allow-methods") == "GET, HEAD, POST, DELETE, OPTIONS");
    CHECK(cors_headers(local, page).empty());
    CHECK(!check_origin({.cors_origins = {"*"}}, page));
}

TEST_CASE("host and origin rules are normalized like browser headers") {
    CHECK(host_rule("Box.LAN") == "box.lan");
    CHECK(host_rule("[FD00::1]") == "fd00::1");
    CHECK(host_rule("fd00::1") == "fd00::1");
    CHECK(host_rule("*") == "*");
    for (const char* wrong : {"", "box.lan:8080", "http://box.lan", "box.lan/", "[fd00::1]:80", "a b"}) {
        CAPTURE(wrong);
        CHECK(!host_rule(wrong));
    }
    CHECK(origin_rule("https://App.Example/") == "https://app.example");
    CHECK(origin_rule("http://localhost:3000") == "http://localhost:3000");
    CHECK(origin_rule("*") == "*");
    for (const char* wrong : {"", "app.example", "https://", "https://app.example/page"}) {
        CAPTURE(wrong);
        CHECK(!origin_rule(wrong));
    }
    CHECK(!check_origin({.allowed_hosts = {host_rule("Box.LAN").value()}},
                        request({{"host", "BOX.lan:8080"}})));
    const AccessRules open = {.cors_origins = {origin_rule("https://App.Example/").value()}};
    CHECK(!cors_headers(open, request({{"host", "localhost"}, {"origin", "https://app.example"}})).empty());
}

TEST_CASE("a key is required if keys are set") {
    CHECK(!check_key({}, request({})));
    const AccessRules rules = {.api_keys = {"one", "two"}};
    CHECK(!check_key(rules, request({{"authorization", "Bearer two"}})));
    CHECK(!check_key(rules,
                     request({{"authorization", "bearer two"}}))); // RFC 9110, 11.1: schemes have no case
    CHECK(!check_key(rules, request({{"x-api-key", "one"}})));
    for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer on", "Bearer onee", "Basic one", "one"}) {
        CAPTURE(wrong);
        const auto refused = check_key(rules, request({{"authorization", wrong}}));
        REQUIRE(refused.has_value());
        CHECK(refused->status == 401);
        CHECK(refused->code == "invalid_api_key");
    }
}

TEST_CASE("a client is identified by its key if keys are set, else by its network") {
    HttpRequest one = request({{"authorization", "Bearer one"}});
    HttpRequest two = request({{"x-api-key", "two"}});
    one.remote_address = "2001:db8::1";
    two.remote_address = "2001:db8::2";
    one.remote_network = two.remote_network = "2001:db8"; // eight bytes, as Socket gives them
    CHECK(client_of({}, one) == client_of({}, two));
    CHECK(client_of({.api_keys = {"one", "two"}}, one) != client_of({.api_keys = {"one", "two"}}, two));
    two.remote_network = "2001:db9";
    CHECK(client_of({}, one) != client_of({}, two));
}

TEST_CASE("a proxy's header names the client if no keys are set and the proxy is trusted") {
    AccessRules rules = {.client_header = "x-real-ip"};
    const auto from = [&](const std::string& address, const std::string& named) {
        HttpRequest one = request({});
        one.remote_address = address;
        one.remote_network = address;
        if (!named.empty())
            one.headers["x-real-ip"] = named;
        return client_of(rules, one);
    };
    for (const char* loopback : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
        CAPTURE(loopback);
        CHECK(from(loopback, "ann") != from(loopback, "bob"));
        CHECK(from(loopback, "ann") == from("127.0.0.1", "ann")); // however the proxy is reached
        CHECK(from(loopback, "ann") != from(loopback, ""));
    }
    for (const char* other : {"10.0.0.7", "fd00::7", "128.0.0.1", "::2", ""}) {
        CAPTURE(other);
        CHECK(from(other, "ann") == from(other, "bob"));
        CHECK(from(other, "ann") == from(other, ""));
    }
    rules.trusted_proxies = {address_range("10.0.0.0/8").value(), address_range("fd00::7").value()};
    CHECK(from("10.0.0.7", "ann") != from("10.0.0.7", "bob"));
    CHECK(from("::ffff:10.9.9.9", "ann") == from("10.0.0.7", "ann"));
    CHECK(from("fd00::7", "ann") != from("fd00::7", "bob"));
    CHECK(from("fd00::8", "ann") == from("fd00::8", "bob"));
    CHECK(from("11.0.0.7", "ann") == from("11.0.0.7", "bob"));
    const std::string long_name(client_name_bytes_max, 'a');
    CHECK(from("::1", long_name + "b") == from("::1", long_name + "c"));
    // Clients can send additional elements before the proxy's, and change their IPv6 address within a
    // network.
    CHECK(from("::1", "one, ann") == from("::1", "two,\tann"));
    CHECK(from("::1", "2001:db8::1") == from("::1", "[2001:db8::2]:443"));
    CHECK(from("::1", "2001:db8::1") != from("::1", "2001:db8:0:1::1"));
    CHECK(from("::1", "1.2.3.4") == from("::1", "::ffff:1.2.3.4"));
    CHECK(from("::1", "1.2.3.4") == from("::1", "1.2.3.4:5678"));
    CHECK(from("::1", "1.2.3.4") != from("::1", "1.2.3.5"));
    rules.client_header.clear();
    CHECK(from("10.0.0.7", "ann") == from("10.0.0.7", "bob"));
    rules.client_header = "x-real-ip";
    rules.api_keys = {"key"};
    CHECK(from("::1", "ann") == from("::1", "bob")); // the key decides
}

TEST_CASE("address ranges are read as CIDR, IPv4 and IPv6") {
    const auto has = [](const char* range, const char* address) {
        return is_within(address_range(range).value(), address);
    };
    CHECK(has("192.168.1.0/24", "192.168.1.255"));
    CHECK(!has("192.168.1.0/24", "192.168.2.0"));
    CHECK(has("192.168.1.128/25", "192.168.1.200"));
    CHECK(!has("192.168.1.128/25", "192.168.1.100"));
    CHECK(has("10.0.0.7", "10.0.0.7"));
    CHECK(!has("10.0.0.7", "10.0.0.8"));
    CHECK(has("0.0.0.0/0", "1.2.3.4"));
    CHECK(!has("0.0.0.0/0", "2001:db8::1"));
    CHECK(has("::/0", "1.2.3.4"));
    CHECK(has("2001:db8::/33", "2001:db8:7fff::1"));
    CHECK(!has("2001:db8::/33", "2001:db8:8000::1"));
    CHECK(has("fe80::/10", "fe80::1%eth0"));
    CHECK(!has("::/0", "somebody"));
    for (const char* wrong : {"", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x",
                              "::/129", "proxy.lan", "[::1]", "fe80::1%eth0", "/8"}) {
        CAPTURE(wrong);
        CHECK(!address_range(wrong));
    }
    CHECK(client_header_rule("X-Real-IP") == "x-real-ip");
    for (const char* wrong : {"", "X-Real-IP:", "a b"})
        CHECK(!client_header_rule(wrong));
}

TEST_CASE("ids are random and well-formed") {
    const std::string uuid = new_uuid();
    CHECK(uuid.size() == 36);
    CHECK(uuid[14] == '4');
    CHECK(uuid != new_uuid());
    CHECK(new_id("call_").size() == 29);
    CHECK(equal_in_constant_time("abc", "abc"));
    CHECK(!equal_in_constant_time("abc", "abd"));
    CHECK(!equal_in_constant_time("abc", "ab"));
    CHECK(!equal_in_constant_time("", "a"));
    CHECK(equal_in_constant_time("", ""));
}

TEST_CASE("an operator has one of the operator's keys, or a client on this machine if there are none") {
    AccessRules rules;
    const auto request_of = [](const std::string& key, const std::string& address, Headers headers = {}) {
        headers.emplace("authorization", "Bearer " + key);
        return HttpRequest{.headers = std::move(headers), .remote_address = address};
    };
    CHECK(is_operator(rules, request_of("", "192.0.2.1"))); // no keys: all clients are equal
    rules.api_keys = {"one", "two"};
    for (const char* local : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"})
        CHECK(is_operator(rules, request_of("one", local)));
    for (const char* other : {"192.0.2.1", "10.0.0.1", "2001:db8::1", ""})
        CHECK(!is_operator(rules, request_of("one", other)));
    for (const char* header : {"x-forwarded-for", "forwarded", "via", "x-real-ip"})
        CHECK(!is_operator(rules, request_of("one", "127.0.0.1", {{header, "192.0.2.1"}})));
    rules.client_header = "x-client";
    CHECK(!is_operator(rules, request_of("one", "127.0.0.1", {{"x-client", "192.0.2.1"}})));
    rules.operator_keys = {"two"};
    CHECK(!is_operator(rules, request_of("one", "127.0.0.1")));
    CHECK(is_operator(rules, request_of("two", "192.0.2.1")));
    const auto refusal = check_operator(rules, request_of("one", "127.0.0.1"), "unloading a model");
    REQUIRE(refusal.has_value());
    CHECK(refusal->status == 403);
    CHECK(refusal->code == "operator_required");
    CHECK(refusal->message.find("--operator-key-file") != std::string::npos);
    CHECK(!check_operator(rules, request_of("two", "192.0.2.1"), "unloading a model"));
}

TEST_CASE("a client is named by its key's number, its trusted header or its address, never by its key") {
    AccessRules rules;
    HttpRequest request = {.headers = {{"x-client", "forged, 192.0.2.7"}}, .remote_address = "203.0.113.5"};
    CHECK(client_label(rules, request) == "203.0.113.5");
    rules.client_header = "x-client";
    CHECK(client_label(rules, request) == "203.0.113.5"); // from no trusted proxy
    request.remote_address = "127.0.0.1";
    CHECK(client_label(rules, request) == "192.0.2.7");
    request.headers["x-client"] = "Ann\n";
    CHECK(client_label(rules, request) == "Ann?");
    rules.api_keys = {"one", "two"};
    request.headers["authorization"] = "Bearer two";
    CHECK(client_label(rules, request) == "key 2");
}

TEST_CASE("requests without a valid key are those of their address") {
    AccessRules rules;
    rules.api_keys = {"one"};
    const auto client = [&](const std::string& key, const std::string& network) {
        return client_of_any(rules,
                             {.headers = {{"authorization", "Bearer " + key}}, .remote_network = network});
    };
    CHECK(client("one", "a") == client("one", "b"));
    CHECK(client("wrong", "a") == client("invented", "a"));
    CHECK(client("wrong", "a") != client("wrong", "b"));
    CHECK(client("wrong", "a") != client("one", "a"));
}
