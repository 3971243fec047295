#include "server/access.hpp"

#include "server/ids.hpp"

#include <algorithm>
#include <functional>
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

/// A name that was made to point here is of use against a server that answers this machine alone, and asks
/// its users for nothing: any other is reached without such a name, or shut to a page that has no key.
bool takes_any_host(const AccessRules& rules) {
    return !rules.api_keys.empty() || !is_loopback(rules.host) || contains(rules.allowed_hosts, "*");
}

bool is_own_host(const AccessRules& rules, std::string_view host) {
    return takes_any_host(rules) || host.empty() || is_loopback(host) || contains(rules.allowed_hosts, host);
}

/// "https://example.org:8080" -> "example.org:8080".
std::string_view authority_of(std::string_view origin) {
    const std::size_t end = origin.find("://");
    return end == std::string_view::npos ? std::string_view() : origin.substr(end + 3);
}

bool may_read(const AccessRules& rules, std::string_view origin) {
    return contains(rules.cors_origins, in_small_letters(origin)) || contains(rules.cors_origins, "*");
}

/// All that a page asks for: a page that may read answers may ask as it likes, and SDKs send many.
std::string allowed_headers(const HttpRequest& request) {
    const std::string_view wanted = request.header("access-control-request-headers");
    return wanted.empty() ? "authorization, content-type" : header_value(wanted);
}

ApiError forbidden(std::string message) {
    return {.status = 403, .message = std::move(message), .code = "forbidden"};
}

} // namespace

std::optional<std::string> host_rule(std::string_view host) {
    std::string rule = in_small_letters(host);
    if (rule.starts_with('[') && rule.ends_with(']'))
        rule = rule.substr(1, rule.size() - 2);
    const bool is_name = !rule.empty() && rule.find_first_of("/:@[] ") == std::string::npos;
    return is_name || is_address(rule) ? std::optional(std::move(rule)) : std::nullopt;
}

std::optional<std::string> origin_rule(std::string_view origin) {
    std::string rule = in_small_letters(origin);
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
    const std::string host = in_small_letters(request.header("host"));
    if (!is_own_host(rules, without_port(host))) {
        return forbidden(fmt::format("this server does not go by `{}`, the name in the Host header; whoever "
                                     "runs it can allow the name with --allowed-host, or any with "
                                     "--allowed-host '*'",
                                     header_value(without_port(host))));
    }
    const std::string_view origin = request.header("origin");
    if (!origin.empty() && in_small_letters(authority_of(origin)) != host && !may_read(rules, origin)) {
        return forbidden(fmt::format("pages of other sites may not use this server, and this one is of `{}`; "
                                     "whoever runs it can allow the site with --cors",
                                     header_value(origin)));
    }
    return std::nullopt;
}

std::string_view given_key(const HttpRequest& request) {
    constexpr std::string_view scheme = "bearer ";
    const std::string_view authorization = request.header("authorization");
    return in_small_letters(authorization.substr(0, scheme.size())) == scheme
               ? authorization.substr(scheme.size())
               : request.header("x-api-key");
}

uint64_t client_of(const AccessRules& rules, const HttpRequest& request) {
    const std::string_view name =
        rules.api_keys.empty() ? std::string_view(request.remote_network) : given_key(request);
    return std::hash<std::string_view>()(name);
}

std::optional<ApiError> check_key(const AccessRules& rules, const HttpRequest& request) {
    if (rules.api_keys.empty())
        return std::nullopt;
    const std::string_view given = given_key(request);
    bool is_right = false;
    for (const std::string& key : rules.api_keys)
        is_right = equal_in_constant_time(given, key) || is_right;
    if (is_right)
        return std::nullopt;
    return ApiError{.status = 401,
                    .message = given.empty() ? "an API key is needed: `Authorization: Bearer KEY`"
                                             : "this API key is not known here",
                    .code = "invalid_api_key"};
}

Headers cors_headers(const AccessRules& rules, const HttpRequest& request) {
    const std::string origin(request.header("origin"));
    if (origin.empty() || !may_read(rules, origin))
        return {};
    return {{"access-control-allow-origin", origin},
            {"access-control-allow-methods", "GET, HEAD, POST, DELETE, OPTIONS"},
            {"access-control-allow-headers", allowed_headers(request)},
            {"access-control-expose-headers",
             "x-request-id, etna-ignored, etna-model, retry-after, retry-after-ms, x-should-retry"},
            {"access-control-max-age", "600"},
            {"vary", "Origin"}};
}

} // namespace etna::server
