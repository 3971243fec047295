#pragma once

#include "server/api/route.hpp"
#include "server/faces/responses/response_job.hpp"
#include "server/faces/responses/services.hpp"
#include "server/http/http.hpp"

#include <memory>

namespace etna::server::responses {

/// Generates a response on a thread of its own, which writes its log line, its entry of the journal and its
/// spans when it ends. `request`, `routed`: those that asked for it. Returns false if too many are running.
bool run_in_background(const std::shared_ptr<ResponseJob>& job, api::AnswerStart start,
                       const Services& services, const HttpRequest& request, const RoutedRequest& routed);

} // namespace etna::server::responses
