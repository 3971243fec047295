#include "server/faces/responses/prepared_response.hpp"

#include "server/api/model_choice.hpp"
#include "server/api/owner.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/rerun.hpp"

#include <ctime>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// Sets a seed if the request has none.
void choose_seed(Request& request) {
    Json& seed = request.shared["seed"];
    if (seed.is_null() || seed == -1)
        seed = static_cast<uint32_t>(std::random_device()());
}

/// Returns rerun_text() of the request. Its input items keep the ids that they have got.
std::string rerun_of(const HttpRequest& request, const Request& parsed, Json body) {
    if (!parsed.input.empty())
        body["input"] = parsed.input;
    body["seed"] = parsed.shared["seed"];
    return rerun_text({.body = std::move(body),
                       .dialect = std::string(request.header(dialect_header)),
                       .remote_address = request.remote_address,
                       .remote_network = request.remote_network});
}

/// Loads the prior context and the request's own items. Errors: see prepare().
ApiStatus load_prompt(const Services& services, const storage::Owner& owner, PreparedResponse& prepared) {
    Persistence& persistence = *services.answers.persistence;
    ETNA_TRY(auto context, load_prior_context(persistence, services.running, owner, prepared.request));
    prepared.history = std::move(context.history);
    return prepared.prompt.load(persistence, owner, context.items, prepared.request);
}

/// Refuses features that this server, or the client's standard, does not have. Errors: 400.
ApiStatus check_support(const Services& services, PreparedResponse& prepared) {
    Request& request = prepared.request;
    for (const Json& tool : request.echoed["tools"]) {
        if (prepared.standard == ResponseStandard::openai || tool["type"] == "function")
            continue;
        return ApiError{
            .message = fmt::format("Open Responses has no tools of type {}; remove the header `etna-dialect`",
                                   tool["type"].get<std::string>()),
            .param = "tools",
            .code = "unsupported_value"};
    }
    request.stores = request.stores && services.answers.persistence->stored_kinds().responses;
    if (request.is_background && !request.stores) {
        return ApiError{.message = "`background` requires stored responses; this server stores none",
                        .param = "background",
                        .code = "unsupported_value"};
    }
    return {};
}

/// Returns the fields that the response repeats from the request. Sampling parameters that the request leaves
/// out are neutral until the model's defaults are known.
Json echoed_fields(const Request& request) {
    Json echoed = request.echoed;
    for (const auto& [name, neutral] :
         {std::pair{"temperature", 1}, {"top_p", 1}, {"presence_penalty", 0}, {"frequency_penalty", 0}}) {
        const Json requested = request.shared.value(name, Json());
        echoed[name] = requested.is_number() ? requested : Json(neutral);
    }
    echoed["store"] = request.stores;
    return echoed;
}

} // namespace

ApiResult<PreparedResponse> prepare(const Services& services, const HttpRequest& request, const Json& body,
                                    Purpose purpose, std::optional<ResponseId> known) {
    // Its items exist in five forms: as received, as returned, as stored, as model input, and as messages.
    constexpr std::size_t copies = 5;
    if (request.memory != nullptr && !request.reserve_memory(copies * request.memory->bytes()))
        return no_memory();
    ETNA_TRY(auto parsed, read_request(body, purpose, api::file_texts(services.answers, request)));
    ETNA_TRY(auto name, api::model_of(services.answers, request, body));
    if (!known)
        known = ResponseId{.id = new_id("resp_"), .created_unix_s = std::time(nullptr)};
    PreparedResponse prepared = {
        .request = std::move(parsed), .standard = standard_of(request), .prompt = ResponsePrompt(purpose)};
    if (prepared.request.is_background)
        choose_seed(prepared.request);
    ETNA_CHECK(load_prompt(services, owner_of(services.answers.options.access, request), prepared));
    ETNA_CHECK(check_support(services, prepared));
    prepared.response = {.id = std::move(known->id),
                         .created_unix_s = known->created_unix_s,
                         .model = std::move(name),
                         .echoed = echoed_fields(prepared.request)};
    if (prepared.request.is_background)
        prepared.rerun = rerun_of(request, prepared.request, body);
    return prepared;
}

} // namespace etna::server::responses
