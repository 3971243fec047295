#pragma once

#include "server/http/http.hpp"
#include "server/observe/answer_log.hpp"

#include <functional>
#include <string>

namespace etna::server {

/// The reply of an endpoint: the response, and what the log, the metrics and the journal say of it.
struct HttpReply {
    int status = 200;
    Headers headers = {};
    std::string content_type = "application/json";
    std::string body = {};
    std::function<void(HttpWriter&)> stream = {}; ///< see HttpResponse
    AnswerLog log = {};
    /// Returns the replacement of `log` after the stream has ended; empty: `log` stays.
    std::function<AnswerLog()> final_log = {};
    bool is_counted = false; ///< already counted in the metrics by the endpoint
    /// The endpoint exports the request's spans, and adds it to the journal, when its background work ends.
    bool is_background = false;
    bool is_logged = true; ///< false: no log line, because the page polls it
};

/// Returns the part for the client.
HttpResponse response_of(HttpReply reply);

/// A reply that streams server-sent events, without its stream.
HttpReply event_stream_reply();

} // namespace etna::server
