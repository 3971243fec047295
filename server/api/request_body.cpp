#include "server/api/request_body.hpp"

namespace etna::server {

ApiResult<Json> parse_body(const HttpRequest& request) {
    if (request.parsed_body == nullptr)
        return parse_body(request.body, request.memory.get());
    if (!request.reserve_memory(json_memory_bytes(*request.parsed_body)))
        return no_memory();
    return *request.parsed_body;
}

} // namespace etna::server
