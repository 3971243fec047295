// GET /v1/models and /v1/models/{id} in the format of this API.

#include "server/api/model_choice.hpp"
#include "server/base/json.hpp"
#include "server/faces/anthropic/endpoints.hpp"

#include <ctime>
#include <string>

#include <fmt/chrono.h>

namespace etna::server::anthropic {
namespace {

Json model_json(const ModelListing& model, const std::string& name) {
    return {{"type", "model"},
            {"id", name},
            {"display_name", name},
            {"created_at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                       fmt::gmtime(static_cast<std::time_t>(model.created_unix_s)))}};
}

} // namespace

ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    Json data = Json::array();
    for (const ModelListing& model : services.models.list_inspected()) {
        data.push_back(model_json(model, model.name));
        for (const std::string& alias : model.aliases)
            data.push_back(model_json(model, alias));
    }
    const Json first = data.empty() ? Json(nullptr) : data.front()["id"];
    const Json last = data.empty() ? Json(nullptr) : data.back()["id"];
    return HttpReply{
        .body =
            dump_json(
                {{"data", std::move(data)}, {"has_more", false}, {"first_id", first}, {"last_id", last}}) +
            "\n"};
}

ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& /*request*/,
                                const RoutedRequest& routed) {
    services.models.inspect();
    if (const auto model = services.models.find(routed.path_values.front()); model && !model->problem)
        return HttpReply{.body = dump_json(model_json(*model, model->name)) + "\n"};
    return api::unknown_model(services, routed.path_values.front(), {});
}

} // namespace etna::server::anthropic
