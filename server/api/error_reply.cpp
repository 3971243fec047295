#include "server/api/error_reply.hpp"

#include <string>

namespace etna::server {

void record(const ApiError& error, AnswerLog& log) {
    log.error = error.code.value_or(error.type);
    log.param = error.param.value_or("");
}

HttpReply reply_of(const ApiError& error) {
    HttpReply reply = {.status = error.status, .body = error_json(error) + "\n"};
    record(error, reply.log);
    if (error.retry_after_s) {
        reply.headers["retry-after"] = std::to_string(*error.retry_after_s);
        reply.headers["retry-after-ms"] = std::to_string(*error.retry_after_s * 1000);
    }
    if (error.status == 500) // OpenAI's SDKs would retry, and fail again
        reply.headers["x-should-retry"] = "false";
    return reply;
}

HttpReply write_openai_error(const HttpRequest& /*request*/, const ApiError& error) {
    return reply_of(error);
}

} // namespace etna::server
