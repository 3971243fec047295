#include "server/base/api_error.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <string_view>

namespace etna::server {
namespace {

constexpr int busy_retry_s = 1;
constexpr int lost_retry_s = 5;

/// The prefix of command-line options.
constexpr std::string_view option = "--";
/// The option with an equivalent request field, and that field.
constexpr std::string_view lenient_option = "--lenient-schema";
constexpr std::string_view lenient_member = "`etna.schema`: \"lenient\"";

Json text_or_null(const std::optional<std::string>& text) {
    return text ? Json(*text) : Json(nullptr);
}

} // namespace

std::string message_for_client(const Error& error) {
    std::string hint = error.hint;
    if (const std::size_t at = hint.find(lenient_option); at != std::string::npos)
        hint.replace(at, lenient_option.size(), lenient_member);
    if (hint.empty() || hint.find(option) != std::string::npos)
        return error.message;
    return error.message + "; " + hint;
}

std::string strip_directories(std::string_view text) {
    constexpr std::string_view delimiters = " \t\n\"'`,;()"; // after which a path can start
    std::string stripped;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(delimiters), text.size());
        std::string_view word = text.substr(0, end);
        const bool is_path = word.starts_with('/') && word.find('/', 1) != std::string_view::npos;
        if (is_path)
            word.remove_prefix(word.rfind('/') + 1);
        stripped += word;
        stripped += text.substr(end, 1);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return stripped;
}

ApiError api_error(const Error& error) {
    switch (error.kind) {
    case ErrorKind::invalid_argument:
    case ErrorKind::unsupported:
        return {.message = message_for_client(error)};
    case ErrorKind::context_exceeded: // OpenAI's error code
        return {.message = message_for_client(error), .code = "context_length_exceeded"};
    case ErrorKind::not_found:
        return {.status = 404, .message = message_for_client(error), .code = "not_found"};
    case ErrorKind::busy:
        return {.status = 429,
                .message = error.message + "; please try again in 1s",
                .type = "rate_limit_exceeded",
                .code = "rate_limit_exceeded",
                .retry_after_s = busy_retry_s};
    case ErrorKind::unreachable:
        return {.status = 502,
                .message = error.message,
                .type = "server_error",
                .code = std::string(to_string(error.kind))};
    case ErrorKind::device_lost:
    case ErrorKind::out_of_memory:
    case ErrorKind::cancelled:
    case ErrorKind::no_device:
    case ErrorKind::io: // a file that is being replaced, a disk that is full
        return {.status = 503,
                .message = strip_directories(error.message),
                .type = "server_error",
                .code = std::string(to_string(error.kind)),
                .retry_after_s = lost_retry_s};
    case ErrorKind::corrupt:
    case ErrorKind::internal:
        break;
    }
    return {.status = 500,
            .message = strip_directories(error.message),
            .type = "server_error",
            .code = std::string(to_string(error.kind))};
}

std::string error_json(const ApiError& error) {
    Json content = {{"message", error.message}, {"type", error.type}};
    content["param"] = text_or_null(error.param);
    content["code"] = text_or_null(error.code);
    return dump_json({{"error", std::move(content)}});
}

ApiError no_memory() {
    return {.status = 503,
            .message = "server is at its memory limit (--bodies-max); retry",
            .type = "server_error",
            .code = "overloaded",
            .retry_after_s = busy_retry_s};
}

ApiError too_large_for_memory() {
    return {.status = 413,
            .message =
                "the request needs more memory than the server allows for all requests (--bodies-max); "
                "send a smaller one",
            .code = "request_too_large"};
}

} // namespace etna::server
