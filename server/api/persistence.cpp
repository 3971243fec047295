#include "server/api/persistence.hpp"

#include "core/base/log.hpp"

#include <fmt/format.h>

namespace etna::server {

ApiError store_failed(const Error& error) {
    const bool is_too_large = error.kind == ErrorKind::invalid_argument;
    if (!is_too_large)
        log(LogLevel::warning, error.message + (error.hint.empty() ? "" : "; ") + error.hint);
    return {.status = is_too_large ? 400 : 500,
            .message = "the response store failed: " +
                       (is_too_large ? message_for_client(error) : strip_directories(error.message)),
            .type = is_too_large ? "invalid_request_error" : "server_error",
            .code = "store_failed"};
}

ApiError storage_disabled(std::string_view what) {
    return {.message = fmt::format("{} are not available: this server stores nothing", what),
            .code = "unsupported_operation"};
}

} // namespace etna::server
