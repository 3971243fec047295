// GET and POST /slots. etna has no slots: each running or waiting answer is shown as one, and free capacity
// as idle ones.

#include "server/api/running_answers.hpp"
#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/llamacpp/errors.hpp"
#include "server/faces/llamacpp/model_query.hpp"
#include "server/faces/llamacpp/sampling.hpp"
#include "server/faces/llamacpp/settings.hpp"

#include <algorithm>
#include <string>

namespace etna::server::llamacpp {
namespace {

using api::RunningAnswer;

Json slot_json(std::size_t id, uint32_t context_tokens, bool is_processing) {
    return {{"id", id}, {"n_ctx", context_tokens}, {"speculative", false}, {"is_processing", is_processing}};
}

Json params_json(const RunningAnswer& answer) {
    generate::Request request;
    request.max_tokens = answer.max_tokens;
    request.end_tokens = answer.ignores_end ? generate::EndTokens::ignore : generate::EndTokens::stop;
    const CompletionRequest parsed = {.output = {.is_streamed = answer.is_streamed},
                                      .echoed = {.samplers = all_samplers()}};
    return public_settings(settings_json(answer.parameters, request, parsed));
}

/// Returns the slot of an answer. `is_processing` is false while the answer waits for its turn.
Json busy_json(std::size_t id, uint32_t context_tokens, const RunningAnswer& answer) {
    Json json = slot_json(id, context_tokens, answer.has_begun);
    const uint32_t generated = answer.generated_tokens;
    json["id_task"] = answer.number;
    json["n_prompt_tokens"] = answer.prompt_tokens;
    json["n_prompt_tokens_processed"] = answer.computed_tokens.load();
    json["n_prompt_tokens_cache"] = answer.cached_tokens.load();
    json["params"] = params_json(answer);
    json["next_token"] = {
        {"has_next_token", true},
        {"n_remain",
         answer.max_tokens ? Json(*answer.max_tokens - std::min(*answer.max_tokens, generated)) : Json(-1)},
        {"n_decoded", generated}};
    return json;
}

} // namespace

ApiResult<HttpReply> list_slots(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    if (!services.options.shows_slots)
        return not_supported("this server does not show slots; its operator can start it with --slots");
    ETNA_TRY(const ModelListing listing, queried_model(services, request));
    const Models::Handle model = services.models.find_loaded(listing.name);
    const uint32_t context_tokens = model == nullptr ? listing.facts.context_tokens : model->context_tokens();
    const std::size_t slots =
        model == nullptr ? services.options.answers_at_once : model->engine().limits().sequences_max;
    const auto answers = services.running_answers.of_model(listing.name);
    if (!query_value(request, "fail_on_no_slot").empty() && answers.size() >= slots) {
        return ApiError{.status = 503, .message = "no slot is available", .type = "server_error"};
    }
    Json list = Json::array();
    for (const auto& answer : answers)
        list.push_back(busy_json(list.size(), context_tokens, *answer));
    while (list.size() < slots)
        list.push_back(slot_json(list.size(), context_tokens, false));
    return HttpReply{.body = dump_json(list) + "\n"};
}

ApiResult<HttpReply> change_slot(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    return not_supported("slots cannot be saved, restored or erased: prompts are cached by their content");
}

} // namespace etna::server::llamacpp
