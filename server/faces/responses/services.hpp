#pragma once

#include "server/api/answer_services.hpp"
#include "server/faces/responses/response_stream.hpp"
#include "server/observe/request_journal.hpp"
#include "server/observe/tracing/span_exporter.hpp"

namespace etna::server::responses {

/// The services of this API. Borrows them; copies may outlive the request.
struct Services {
    AnswerServices& answers;
    RunningResponses& running;
    RequestJournal& journal;
    tracing::SpanExporter* exporter = nullptr; ///< null: requests are not traced
};

} // namespace etna::server::responses
