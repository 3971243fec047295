#include "server/api/reply.hpp"

#include "server/http/sse.hpp"

#include <utility>

namespace etna::server {

HttpResponse response_of(HttpReply reply) {
    return {.status = reply.status,
            .headers = std::move(reply.headers),
            .content_type = std::move(reply.content_type),
            .body = std::move(reply.body),
            .stream = std::move(reply.stream)};
}

HttpReply event_stream_reply() {
    return {.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}},
            .content_type = std::string(sse::content_type)};
}

} // namespace etna::server
