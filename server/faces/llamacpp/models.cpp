// POST /models/load and /models/unload.

#include "server/api/active_request.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"
#include "server/faces/llamacpp/endpoints.hpp"

#include <string>

namespace etna::server::llamacpp {
namespace {

/// Reads the required member `model`.
ApiResult<std::string> read_name(const HttpRequest& request) {
    ETNA_TRY(const Json body, parse_body(request));
    Fields fields(body);
    fields.require("model");
    auto name = fields.text("model");
    ETNA_CHECK(fields.status());
    return std::move(*name);
}

HttpReply json_reply(const Json& json) {
    return {.body = dump_json(json) + "\n"};
}

} // namespace

ApiResult<HttpReply> load_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const std::string name, read_name(request));
    const auto found = services.models.find(name);
    if (!found)
        return api::unknown_model(services, name, {});
    const auto model = services.models.acquire(
        found->name, [&] { return services.is_aborting || request.is_client_gone(); },
        client_of(services.options.access, request));
    if (!model) {
        return model.error().kind == ErrorKind::cancelled ? api::cancelled_error(services)
                                                          : api_error(model.error());
    }
    return json_reply({{"success", true}, {"model", found->name}});
}

ApiResult<HttpReply> unload_model(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    ETNA_TRY(const std::string name, read_name(request));
    if (auto refusal = check_operator(services.options.access, request, "unloading a model"))
        return std::move(*refusal);
    ETNA_TRY(const Unloading unloading, api::unload_model(services, request, name));
    return json_reply({{"success", true},
                       {"model", name},
                       {"was_loaded", unloading != Unloading::not_loaded},
                       {"waits_for_requests", unloading == Unloading::after_requests}});
}

} // namespace etna::server::llamacpp
