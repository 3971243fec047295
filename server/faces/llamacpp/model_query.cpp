#include "server/faces/llamacpp/model_query.hpp"

#include "server/api/model_choice.hpp"

#include <string>

namespace etna::server::llamacpp {

std::string_view query_value(const HttpRequest& request, std::string_view name) {
    for (const auto& [key, value] : request.query) {
        if (key == name)
            return value;
    }
    return {};
}

ApiResult<ModelListing> queried_model(AnswerServices& services, const HttpRequest& request) {
    services.models.inspect();
    std::string name(query_value(request, "model"));
    if (name.empty())
        name = services.models.default_name();
    const auto listing = services.models.find(name);
    return listing ? ApiResult<ModelListing>(*listing) : api::unknown_model(services, name, {});
}

} // namespace etna::server::llamacpp
