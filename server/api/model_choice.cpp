#include "server/api/model_choice.hpp"

#include "server/api/access.hpp"
#include "server/base/fields.hpp"
#include "server/models/model_sources.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

constexpr std::string_view no_models = "no model is served: the folder of models has none";
constexpr std::string_view any_name_hint = "; start the server with --any-model-name to accept any name";

ApiError model_not_found(std::string message) {
    return {.status = 404, .message = std::move(message), .param = "model", .code = "model_not_found"};
}

ApiError model_refused(const Error& error) {
    ApiError refusal = api_error(error);
    refusal.param = "model";
    return refusal;
}

ApiError no_models_error() {
    return model_not_found(std::string(no_models));
}

/// A host in lower case, and its port; empty: not given.
struct Authority {
    std::string host;
    std::string_view port;
};

/// Parses "localhost:8080".
Authority parse_authority(std::string_view text) {
    const std::size_t bracket = text.rfind(']'); // of an IPv6 address, which has colons
    const std::size_t colon = text.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    Authority parsed = {.host = to_lower(text.substr(0, has_port ? colon : text.size())),
                        .port = has_port ? text.substr(colon + 1) : std::string_view()};
    if (parsed.host.starts_with('[') && parsed.host.ends_with(']'))
        parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    if (is_loopback(parsed.host)) // one of several names of this machine
        parsed.host = "localhost";
    return parsed;
}

} // namespace

bool is_own_address(std::string_view text, const HttpRequest& request) {
    constexpr std::string_view scheme_end = "://";
    const std::size_t at = text.find(scheme_end);
    const std::string scheme = at == std::string_view::npos ? "" : to_lower(text.substr(0, at));
    if (at != std::string_view::npos)
        text.remove_prefix(at + scheme_end.size());
    if (at != std::string_view::npos && scheme != "http" && scheme != "https")
        return false;
    Authority named = parse_authority(text.substr(0, text.find('/')));
    if (named.port.empty() && !scheme.empty())
        named.port = scheme == "http" ? "80" : "443";
    const Authority own = parse_authority(request.header("host"));
    // Reverse proxies may drop the port.
    return !own.host.empty() && named.host == own.host && (own.port.empty() || named.port == own.port);
}

std::string served_models(AnswerServices& services, std::string_view name) {
    std::vector<std::string> names;
    for (const ModelListing& model : services.models.list())
        names.push_back(model.name);
    return names.empty() ? std::string(no_models) : served_names(name, names);
}

ApiError unknown_model(AnswerServices& services, std::string_view name, std::string_view hint) {
    constexpr std::size_t shown_max = 200; // the name is client input, as long as a body at most
    std::string served = served_models(services, name);
    if (served == no_models)
        return no_models_error();
    return model_not_found(
        fmt::format("the model `{}` does not exist; {}{}", name.substr(0, shown_max), served, hint));
}

ApiResult<std::string> model_of(AnswerServices& services, const HttpRequest& request, const Json& body) {
    Fields fields(body);
    const auto name = fields.text("model");
    ETNA_CHECK(fields.status());
    if (name && (!is_own_address(*name, request) || services.models.find(*name))) {
        const auto found = services.models.find_or_add(*name);
        if (found)
            return found->name;
        if (!services.options.accepts_any_model_name) {
            return found.error().kind == ErrorKind::not_found ? unknown_model(services, *name, any_name_hint)
                                                              : model_refused(found.error());
        }
    }
    std::string default_name = services.models.default_name();
    return default_name.empty() ? no_models_error() : ApiResult<std::string>(std::move(default_name));
}

ApiResult<Unloading> unload_model(AnswerServices& services, const HttpRequest& request,
                                  const std::string& name) {
    const auto unloading = services.models.unload(name, client_of(services.options.access, request));
    if (unloading)
        return *unloading;
    const UnloadRefusal& refusal = unloading.error();
    if (refusal.problem == UnloadProblem::unknown_model)
        return unknown_model(services, name, {});
    if (refusal.problem == UnloadProblem::loading)
        return api_error(refusal);
    const bool is_too_often = refusal.problem == UnloadProblem::too_often;
    ApiError error = {.status = is_too_often ? 429 : 409,
                      .message = refusal.message,
                      .type = is_too_often ? "rate_limit_exceeded" : "invalid_request_error",
                      .param = "model",
                      .code = refusal.problem == UnloadProblem::pinned   ? "model_pinned"
                              : refusal.problem == UnloadProblem::in_use ? "model_in_use"
                                                                         : "too_many_unloads"};
    if (refusal.retry_in > std::chrono::milliseconds(0))
        error.retry_after_s =
            static_cast<int>(std::chrono::ceil<std::chrono::seconds>(refusal.retry_in).count());
    return error;
}

void report_model(const std::string& name, HttpReply& reply) {
    reply.headers["etna-model"] = header_value(name);
    reply.log.model = name;
}

void complete_log(AnswerLog log, HttpReply& reply) {
    if (!reply.log.error.empty()) { // the error as sent to the client
        log.final_status.reset();
        log.error = std::move(reply.log.error);
        log.param = std::move(reply.log.param);
    }
    reply.log = std::move(log);
}

} // namespace etna::server::api
