#include "server/keeping.hpp"

#include <fmt/format.h>

namespace etna::server {

memory::Owner owner_of(const AccessRules& access, const HttpRequest& request) {
    return access.api_keys.empty() ? memory::Owner() : fingerprint(given_key(request));
}

ApiError store_failed(const Error& error) {
    const bool is_too_large = error.kind == ErrorKind::invalid_argument;
    return {.status = is_too_large ? 400 : 500,
            .message = "what the server keeps cannot be used: " +
                       (is_too_large ? message_for_client(error) : error.message),
            .type = is_too_large ? "invalid_request_error" : "server_error",
            .code = "store_failed"};
}

ApiError nothing_is_kept(std::string_view what) {
    return {.status = 400,
            .message = fmt::format("{} need a server that keeps them, and this one keeps nothing", what),
            .code = "unsupported_operation"};
}

} // namespace etna::server
