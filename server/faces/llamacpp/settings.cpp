#include "server/faces/llamacpp/settings.hpp"

#include "core/sampling/history.hpp"

#include <cmath>

namespace etna::server::llamacpp {
namespace {

/// -1: all tokens.
int64_t window_number(uint32_t tokens) {
    return tokens == sampling::full_history ? -1 : int64_t{tokens};
}

/// Returns [{"token", "bias"}]. The bias of a ban is null, because JSON has no infinity.
Json biases_json(const std::vector<sampling::LogitBias>& biases) {
    Json list = Json::array();
    for (const sampling::LogitBias& one : biases)
        list.push_back(
            {{"token", one.token}, {"bias", std::isinf(one.bias) ? Json(nullptr) : number_json(one.bias)}});
    return list;
}

void add_sampling(Json& json, const sampling::Parameters& parameters, const generate::Request& request) {
    json["temperature"] = number_json(parameters.temperature);
    json["dynatemp_range"] = 0;
    json["dynatemp_exponent"] = 1;
    json["top_k"] = parameters.top_k;
    json["top_p"] = number_json(parameters.top_p);
    json["min_p"] = number_json(parameters.min_p);
    json["top_n_sigma"] = parameters.top_n_sigma > 0 ? number_json(parameters.top_n_sigma) : Json(-1);
    json["xtc_probability"] = number_json(parameters.xtc_probability);
    json["xtc_threshold"] = number_json(parameters.xtc_threshold);
    json["typical_p"] = number_json(parameters.typical_p);
    json["repeat_last_n"] = window_number(parameters.repetition_window_tokens);
    json["repeat_penalty"] = number_json(parameters.repetition_penalty);
    json["presence_penalty"] = number_json(parameters.presence_penalty);
    json["frequency_penalty"] = number_json(parameters.frequency_penalty);
    json["dry_multiplier"] = number_json(parameters.dry_multiplier);
    json["dry_base"] = number_json(parameters.dry_base);
    json["dry_allowed_length"] = parameters.dry_allowed_length;
    json["dry_penalty_last_n"] = window_number(parameters.dry_window_tokens);
    json["dry_sequence_breakers"] = request.dry_breakers;
    json["mirostat"] = 0;
    json["mirostat_tau"] = 5;
    json["mirostat_eta"] = number_json(0.1F);
    json["min_keep"] = parameters.min_keep;
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
