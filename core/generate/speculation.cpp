#include "core/generate/speculation.hpp"

#include "core/base/log.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {

SpeculationOverrides over(const SpeculationOverrides& overrides, const SpeculationOverrides& others) {
    SpeculationOverrides result = overrides;
    if (!overrides.tokens_max && !overrides.confidence_min) { // mutually exclusive: take both from one source
        result.tokens_max = others.tokens_max;
        result.confidence_min = others.confidence_min;
    }
    if (!overrides.ngram_max)
        result.ngram_max = others.ngram_max;
    return result;
}

SpeculationOverrides recommended_speculation(const store::GenerationConfig& config) {
    SpeculationOverrides overrides;
    const auto tokens = config.num_assistant_tokens;
    const auto confidence = config.assistant_confidence_threshold;
    const auto ignore = [](std::string_view name, double value) {
        log(LogLevel::warning, fmt::format("{}: ignoring {} = {}, which is out of range",
                                           store::generation_config_name, name, value));
    };
    if (tokens && *tokens >= 0 && *tokens <= engine::drafts_max)
        overrides.tokens_max = static_cast<uint32_t>(*tokens);
    else if (tokens)
        ignore("num_assistant_tokens", *tokens);
    if (tokens || !confidence)
        return overrides; // a fixed number takes precedence over a threshold
    if (*confidence >= 0 && *confidence <= 1)
        overrides.confidence_min = static_cast<float>(*confidence);
    else
        ignore("assistant_confidence_threshold", *confidence);
    return overrides;
}

std::optional<engine::Speculation> speculation(const SpeculationOverrides& overrides, DraftModels models,
                                               std::vector<TokenId> prediction) {
    const uint32_t usual = overrides.confidence_min ? confident_draft_tokens : usual_draft_tokens;
    engine::Speculation result = {.tokens_max = overrides.tokens_max.value_or(usual),
                                  .lookup_ngram_max = overrides.ngram_max.value_or(0),
                                  .prediction = std::move(prediction),
                                  .uses_head = models.has_head && !models.has_model,
                                  .uses_model = models.has_model,
                                  .confidence_min = overrides.confidence_min};
    const bool has_source =
        result.uses_model || result.uses_head || result.lookup_ngram_max > 0 || !result.prediction.empty();
    return has_source && result.tokens_max > 0 ? std::optional(std::move(result)) : std::nullopt;
}

Status check_same_vocabulary(const text::Tokenizer& model, const text::Tokenizer& draft) {
    const auto refused = [](std::string message) {
        return invalid_argument(std::move(message),
                                "use a smaller model of the same family as the draft model");
    };
    for (TokenId token = 0; token < std::min(model.size(), draft.size()); ++token) {
        if (model.bytes(token) != draft.bytes(token) || model.type(token) != draft.type(token)) {
            return refused(
                fmt::format("the draft model has another vocabulary: token {} is '{}', and '{}' in the "
                            "model",
                            token, draft.bytes(token), model.bytes(token)));
        }
    }
    // Model families pad their vocabularies differently; tokens past the end of the smaller one are never
    // drafted, or are rejected.
    constexpr std::size_t padding_max = 1024;
    const std::size_t larger = std::max(model.size(), draft.size());
    const std::size_t smaller = std::min(model.size(), draft.size());
    if (larger - smaller > padding_max) {
        return refused(fmt::format("the draft model has another vocabulary: {} tokens; the model has {}",
                                   draft.size(), model.size()));
    }
    return {};
}

} // namespace etna::generate
