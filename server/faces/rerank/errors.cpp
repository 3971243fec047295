#include "server/base/json.hpp"
#include "server/faces/rerank/endpoints.hpp"

namespace etna::server::rerank {

HttpReply write_error(const HttpRequest& /*request*/, const ApiError& error) {
    HttpReply reply = reply_of(error);
    Json body = Json::parse(error_json(error));
    body["detail"] = error.message;
    reply.body = dump_json(body) + "\n";
    return reply;
}

HttpReply write_cohere_error(const HttpRequest& request, const ApiError& error) {
    HttpReply reply = reply_of(error);
    Json body = {{"message", error.message}};
    if (const auto id = request.header("x-request-id"); !id.empty())
        body["id"] = id;
    reply.body = dump_json(body) + "\n";
    return reply;
}

} // namespace etna::server::rerank
