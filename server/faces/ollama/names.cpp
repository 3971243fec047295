#include "server/faces/ollama/names.hpp"

#include "server/api/model_choice.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

constexpr std::string_view latest = ":latest";

/// Returns the 404 error in the API's wording, which clients match.
ApiError not_found(AnswerServices& services, std::string_view name) {
    constexpr std::size_t shown_max = 200;
    return {.status = 404,
            .message = fmt::format("model '{}' not found; {}", name.substr(0, shown_max),
                                   api::served_models(services, name)),
            .param = "model",
            .code = "model_not_found"};
}

} // namespace

std::string with_tag(std::string_view name) {
    const std::size_t tag = name.find(':', name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/'));
    return std::string(name) + (tag == std::string_view::npos ? std::string(latest) : std::string());
}

std::string without_latest(std::string_view name) {
    if (name.ends_with(latest) && name.size() > latest.size())
        name.remove_suffix(latest.size());
    return std::string(name);
}

std::string read_model(Fields& fields) {
    const auto name = fields.text("name");
    auto model = fields.text("model");
    if (!model || model->empty())
        model = name;
    if (!model || model->empty())
        fields.refuse("model", "is required", "missing_required_parameter");
    return model.value_or("");
}

ApiResult<ModelListing> find_model(AnswerServices& services, const std::string& name) {
    if (auto listed = services.models.find(name))
        return std::move(*listed);
    // Without the tag first: the hub would read it as a quantisation.
    auto found = services.models.find_or_add(without_latest(name));
    if (!found && name != without_latest(name))
        found = services.models.find_or_add(name);
    if (found)
        return std::move(*found);
    if (found.error().kind == ErrorKind::not_found)
        return not_found(services, name);
    ApiError error = api_error(found.error());
    error.param = "model";
    return error;
}

ApiResult<std::string> served_name(AnswerServices& services, const HttpRequest& request,
                                   const std::string& name) {
    const auto found = find_model(services, name);
    if (found)
        return found->name;
    const bool is_any = services.options.accepts_any_model_name || api::is_own_address(name, request);
    std::string default_name = is_any ? services.models.default_name() : "";
    return default_name.empty() ? ApiResult<std::string>(found.error()) : std::move(default_name);
}

} // namespace etna::server::ollama
