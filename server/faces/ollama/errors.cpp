#include "server/faces/ollama/errors.hpp"

#include "server/base/json.hpp"

namespace etna::server::ollama {

std::string error_line(const ApiError& error) {
    return dump_json({{"error", error.message}}) + "\n";
}

HttpReply write_error(const HttpRequest& /*request*/, const ApiError& error) {
    HttpReply reply = reply_of(error); // for its headers and log entry
    reply.body = error_line(error);
    return reply;
}

bool is_path(std::string_view path) {
    return path.starts_with("/api/");
}

} // namespace etna::server::ollama
