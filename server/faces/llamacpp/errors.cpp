#include "server/faces/llamacpp/errors.hpp"

#include <string_view>
#include <utility>

namespace etna::server::llamacpp {
namespace {

constexpr int not_implemented = 501;

std::string_view type_of(const ApiError& error) {
    constexpr int first_server_error = 500;
    if (error.code == "context_length_exceeded")
        return "exceed_context_size_error";
    switch (error.status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 503:
        return "unavailable_error";
    case not_implemented:
        return "not_supported_error";
    default:
        return error.status < first_server_error ? "invalid_request_error" : "server_error";
    }
}

} // namespace

Json error_object(const ApiError& error) {
    return {{"error", {{"code", error.status}, {"message", error.message}, {"type", type_of(error)}}}};
}

HttpReply write_error(const HttpRequest& /*request*/, const ApiError& error) {
    HttpReply reply = reply_of(error); // for its headers and log entry
    reply.body = dump_json(error_object(error)) + "\n";
    return reply;
}

ApiError not_supported(std::string message) {
    return {.status = not_implemented,
            .message = std::move(message),
            .type = "not_supported_error",
            .code = "not_supported"};
}

} // namespace etna::server::llamacpp
