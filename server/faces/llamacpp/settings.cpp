#include "server/faces/llamacpp/settings.hpp"

#include "core/sampling/parameter_table.hpp"

#include <cmath>
#include <string>

namespace etna::server::llamacpp {
namespace {

/// Returns [{"token", "bias"}]. The bias of a ban is null, because JSON has no infinity.
Json biases_json(const std::vector<sampling::LogitBias>& biases) {
    Json list = Json::array();
    for (const sampling::LogitBias& one : biases)
        list.push_back(
            {{"token", one.token}, {"bias", std::isinf(one.bias) ? Json(nullptr) : number_json(one.bias)}});
    return list;
}

Json value_json(const sampling::Parameters& parameters, const sampling::Parameter& parameter) {
    const double value = sampling::value_of(parameters, parameter);
    if (parameter.unit != sampling::Unit::number)
        return static_cast<int64_t>(value);
    return number_json(static_cast<float>(value));
}

void add_sampling(Json& json, const sampling::Parameters& parameters, const generate::Request& request) {
    for (const sampling::Parameter& parameter : sampling::parameter_table()) {
        const std::string name(parameter.llamacpp.name);
        if (!name.empty() && !json.contains(name)) // the window of repetitions stands for the others
            json[name] = value_json(parameters, parameter);
    }
    if (json["top_n_sigma"] == 0)
        json["top_n_sigma"] = -1;
    json["dynatemp_range"] = 0;
    json["dynatemp_exponent"] = 1;
    json["dry_sequence_breakers"] = request.dry_breakers;
    json["mirostat"] = 0;
    json["mirostat_tau"] = 5;
    json["mirostat_eta"] = number_json(0.1F);
}

} // namespace

Json settings_json(const sampling::Parameters& parameters, const generate::Request& request,
                   const CompletionRequest& parsed) {
    const Json length = request.max_tokens ? Json(*request.max_tokens) : Json(-1);
    Json json = {{"n_predict", length},
                 {"max_tokens", length},
                 {"seed", request.seed ? Json(*request.seed) : Json(random_seed_number)},
                 {"stop", request.stop},
                 {"n_keep", parsed.echoed.n_keep},
                 {"n_discard", parsed.echoed.n_discard},
                 {"ignore_eos", request.end_tokens == generate::EndTokens::ignore},
                 {"stream", parsed.output.is_streamed},
                 {"logit_bias", biases_json(request.logit_bias)},
                 {"n_probs", parsed.output.has_probabilities ? request.logprobs.value_or(0) : 0},
                 {"grammar", parsed.echoed.grammar},
                 {"grammar_lazy", false},
                 {"grammar_triggers", Json::array()},
                 {"preserved_tokens", Json::array()},
                 {"chat_format", "Content-only"},
                 {"reasoning_format", "none"},
                 {"samplers", parsed.echoed.samplers},
                 {"timings_per_token", parsed.output.has_timings},
                 {"post_sampling_probs", false},
                 {"lora", Json::array()}};
    add_sampling(json, parameters, request);
    return json;
}

Json public_settings(Json settings) {
    for (const char* const name : {"stop", "grammar", "logit_bias", "dry_sequence_breakers"})
        settings.erase(name);
    return settings;
}

} // namespace etna::server::llamacpp
