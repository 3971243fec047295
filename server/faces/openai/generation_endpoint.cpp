#include "server/faces/openai/generation_endpoint.hpp"

#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/faces/openai/completion_job.hpp"

#include <memory>
#include <utility>

namespace etna::server::openai {

ApiResult<HttpReply> serve_generation(AnswerServices& services, const HttpRequest& request,
                                      const RoutedRequest& routed, const EndpointSpec& spec) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    const bool is_streamed = body.value("stream", Json(false)) == true;
    const auto job = std::make_shared<CompletionJob>(
        api::ActiveRequest(services, request, routed, spec.endpoint, std::move(name), is_streamed), spec,
        std::move(body));
    return api::reply_with(job, request, routed, is_streamed);
}

} // namespace etna::server::openai
