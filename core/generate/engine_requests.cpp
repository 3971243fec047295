#include "core/generate/engine_requests.hpp"

#include "core/base/utf8.hpp"
#include "core/generate/constraint.hpp"
#include "core/generate/output_processor.hpp"
#include "core/generate/reasoning_limit.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/generate/speculation.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Validates choices, best_of and beams.
Status check_choices(const Request& request) {
    const auto refused = [](std::string message) { return invalid_argument(std::move(message)); };
    if (request.choices == 0)
        return refused("choices is 0; the minimum is 1");
    if (request.best_of && *request.best_of < request.choices) {
        return refused(fmt::format("best_of is {}; the minimum is the number of choices, {}",
                                   *request.best_of, request.choices));
    }
    if (!request.beams)
        return {};
    if (request.best_of)
        return refused("best_of and a beam search exclude each other");
    if (request.reasoning)
        return refused("a limit of the reasoning and a beam search exclude each other");
    engine::BeamOptions beams = *request.beams;
    beams.answers = request.choices;
    return engine::check(beams);
}

/// Returns all tokens that end a sequence, without duplicates.
std::vector<TokenId> end_tokens_of(const Model& model, const Request& request) {
    std::vector<TokenId> tokens = request.stop_tokens;
    if (request.end_tokens == EndTokens::stop) {
        const auto own = model.file().tokenizer.end_tokens();
        tokens.insert(tokens.end(), own.begin(), own.end());
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

/// Truncates a prediction to its usable prefix: no answer is longer than the context, and no token has more
/// bytes than the longest one. It is not refused, because a prediction is a hint, OpenAI's API sets no limit,
/// and its prefix is as useful as before.
std::string_view usable_prefix(const Model& model, std::string_view prediction) {
    const std::size_t bytes_max = uint64_t{model.context_tokens()} * model.file().longest_token_bytes;
    if (prediction.size() <= bytes_max)
        return prediction;
    const std::string_view prefix = prediction.substr(0, bytes_max);
    return prefix.substr(0, valid_utf8_prefix(prefix));
}

/// Returns the tokens of the prediction; empty if they would not be used for drafts.
Result<std::vector<TokenId>> encode_prediction(const Model& model, const Request& request,
                                               const SpeculationOverrides& overrides,
                                               const CancelPoll& is_cancelled) {
    if (request.prediction.empty() || request.beams || overrides.tokens_max == 0U)
        return std::vector<TokenId>();
    ETNA_TRY(auto tokens, model.file().tokenizer.encode(usable_prefix(model, request.prediction),
                                                        {.special = text::SpecialTokens::literal,
                                                         .bos = text::AddBos::never,
                                                         .is_cancelled = is_cancelled}));
    tokens.resize(std::min<std::size_t>(tokens.size(), model.context_tokens()));
    return tokens;
}

/// Returns the single request that produces all answers of a beam search.
Result<engine::Request> beam_request(const Model& model, const Request& request, const Prompt& prompt,
                                     engine::Request one,
                                     const std::shared_ptr<const grammar::Grammar>& grammar) {
    one.beams = *request.beams;
    one.beams->answers = request.choices;
    one.constraint = make_constraint(grammar, nullptr);
    if (!request.stop.empty()) {
        ETNA_TRY(auto text, make_answer_text(prompt, request));
        one.constraint = std::make_shared<StopStringConstraint>(
            model.file().tokenizer,
            StopStringConstraint::Options{.text = std::move(text),
                                          .min_tokens = request.min_tokens,
                                          .detokenize = detokenize_options(prompt, request)},
            std::move(one.constraint));
    }
    return one;
}

} // namespace

Status check(const Request& request) {
    if (std::any_of(request.stop.begin(), request.stop.end(), [](const auto& stop) { return stop.empty(); }))
        return invalid_argument("a stop string is empty");
    const uint32_t logprobs = std::max(request.logprobs.value_or(0), request.prompt_logprobs.value_or(0));
    if (logprobs > logprobs_max)
        return invalid_argument(fmt::format("logprobs is {}; the maximum is {}", logprobs, logprobs_max));
    return check_choices(request);
}

Status check_bans(const Model& model, const Request& request) {
    std::vector<TokenId> banned;
    for (const sampling::LogitBias& one : request.logit_bias) {
        if (std::isinf(one.bias))
            banned.push_back(one.token);
    }
    if (banned.empty())
        return {};
    if (request.min_tokens > 0) { // the end tokens are banned before that length
        const auto ends = end_tokens_of(model, request);
        banned.insert(banned.end(), ends.begin(), ends.end());
    }
    std::sort(banned.begin(), banned.end());
    banned.erase(std::unique(banned.begin(), banned.end()), banned.end());
    if (banned.size() < model.engine().limits().vocabulary)
        return {};
    return invalid_argument("logit_bias bans every token that is possible here",
                            "leave at least one token without -infinity");
}

Result<EngineRequests> engine_requests(const Model& model, const Request& request, const Prompt& prompt,
                                       int64_t seed, const CancelPoll& is_cancelled) {
    ETNA_TRY(const auto grammar, make_grammar(model, request, prompt, is_cancelled));
    engine::Request one = {
        .prompt = prompt.content.tokens,
        .kinds = prompt.content.kinds,
        .branch_positions = prompt.branch_positions,
        .sampling =
            with_overrides(request.sampling_defaults.value_or(model.defaults().sampling), request.sampling),
        .logit_bias = request.logit_bias,
        .prompt_candidates = request.prompt_logprobs,
        .top_candidates = request.logprobs.value_or(0),
        .max_tokens = request.max_tokens,
        .end_tokens = end_tokens_of(model, request),
        .min_tokens = request.min_tokens,
        .unread_max = request.unread_max,
        .cache_salt = request.cache_salt,
        .client = request.client,
        .priority = request.priority};
    const SpeculationOverrides overrides = over(request.speculation, model.defaults().speculation);
    ETNA_TRY(auto prediction, encode_prediction(model, request, overrides, is_cancelled));
    one.speculation = speculation(overrides, model.runtime().draft_models(), std::move(prediction));
    if (one.max_tokens == 0U)
        one.max_tokens = 1; // the prompt's last row produces it anyway; it is not delivered
    if (one.sampling.dry_multiplier != 0) {
        ETNA_TRY(one.dry_breakers, encode_dry_breakers(model.file().tokenizer, request.dry_breakers));
    }
    EngineRequests requests;
    if (grammar != nullptr)
        requests.dropped_keywords = grammar::dropped_keywords(*grammar);
    std::vector<engine::Request>& all = requests.all;
    if (request.beams) {
        ETNA_TRY(auto beams, beam_request(model, request, prompt, std::move(one), grammar));
        all.push_back(std::move(beams));
        all.front().sampling.seed = sampler_seed(seed);
        return requests;
    }
    all.assign(request.best_of.value_or(request.choices), one);
    // Forced tokens have no log-probability of the model, so a grammar forces nothing if log-probabilities
    // are reported or compared. Those that close reasoning at its limit have 0.
    const bool may_force = !request.logprobs && !request.best_of;
    auto constraint = make_constraint(grammar, may_force ? &model.file().tokenizer : nullptr);
    if (request.reasoning) {
        ETNA_TRY(constraint, with_reasoning_limit(model.file().tokenizer, model.engine().limits().vocabulary,
                                                  request, prompt, std::move(constraint)));
    }
    for (std::size_t choice = 0; choice < all.size(); ++choice) {
        all[choice].sampling.seed = sampler_seed(choice_seed(seed, choice));
        if (constraint != nullptr)
            all[choice].constraint = constraint->fork(); // copies share the grammar's cost limit
    }
    return requests;
}

} // namespace etna::generate
