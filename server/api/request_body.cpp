#include "server/api/request_body.hpp"

namespace etna::server {

ApiResult<Json> parse_body(const HttpRequest& request) {
    return parse_body(request.body, request.memory.get());
}

} // namespace etna::server
