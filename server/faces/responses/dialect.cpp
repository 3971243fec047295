#include "server/faces/responses/dialect.hpp"

#include "server/base/json.hpp"

namespace etna::server::responses {
namespace {

constexpr std::string_view open_responses = "open-responses";

} // namespace

ResponseStandard standard_of(const HttpRequest& request) {
    return to_lower(request.header(dialect_header)) == open_responses ? ResponseStandard::open_responses
                                                                      : ResponseStandard::openai;
}

std::optional<ApiError> check_dialect(const HttpRequest& request) {
    const std::string dialect = to_lower(request.header(dialect_header));
    if (dialect.empty() || dialect == "openai" || dialect == open_responses)
        return std::nullopt;
    return ApiError{.message = "the header `etna-dialect` must be openai or open-responses",
                    .param = std::string(dialect_header),
                    .code = "unsupported_value"};
}

std::string_view error_type(const ApiError& error) {
    constexpr int not_found = 404;
    constexpr int too_many = 429;
    constexpr int first_server_error = 500;
    if (error.status == not_found)
        return "not_found";
    if (error.status == too_many)
        return "too_many_requests";
    if (error.status < first_server_error)
        return "invalid_request";
    return error.code == "device_lost" || error.code == "out_of_memory" ? "model_error" : "server_error";
}

HttpReply write_error(const HttpRequest& request, const ApiError& error) {
    if (standard_of(request) == ResponseStandard::openai)
        return reply_of(error);
    ApiError converted = error;
    converted.type = error_type(error);
    HttpReply reply = reply_of(converted);
    record(error, reply.log);
    return reply;
}

} // namespace etna::server::responses
