#include "server/responses/dialect.hpp"

#include "server/json.hpp"

namespace etna::server::responses {
namespace {

constexpr int first_error_status = 400;
constexpr std::string_view header_name = "etna-dialect";
constexpr std::string_view open_responses = "open-responses";

std::string_view error_type(int status, const Json& code) {
    constexpr int not_found = 404;
    constexpr int too_many = 429;
    constexpr int first_server_error = 500;
    if (status == not_found)
        return "not_found";
    if (status == too_many)
        return "too_many_requests";
    if (status < first_server_error)
        return "invalid_request";
    return code == "device_lost" || code == "out_of_memory" ? "model_error" : "server_error";
}

} // namespace

ResponseStandard standard_of(const HttpRequest& request) {
    return to_lower(request.header(header_name)) == open_responses ? ResponseStandard::open_responses
                                                                   : ResponseStandard::openai;
}

std::optional<ApiError> check_dialect(const HttpRequest& request) {
    const std::string dialect = to_lower(request.header(header_name));
    if (dialect.empty() || dialect == "openai" || dialect == open_responses)
        return std::nullopt;
    return ApiError{.message = "the header `etna-dialect` must be openai or open-responses",
                    .param = std::string(header_name),
                    .code = "unsupported_value"};
}

std::string_view error_type(const ApiError& error) {
    return error_type(error.status, error.code ? Json(*error.code) : Json());
}

HttpReply convert_error(ResponseStandard standard, HttpReply reply) {
    if (standard == ResponseStandard::openai || reply.status < first_error_status)
        return reply;
    Json body = parse_json(reply.body);
    if (!body.is_object() || !body.contains("error"))
        return reply;
    Json& error = body["error"];
    error["type"] = error_type(reply.status, error["code"]);
    reply.body = dump_json(body) + "\n";
    return reply;
}

} // namespace etna::server::responses
