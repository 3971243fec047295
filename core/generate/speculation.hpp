#pragma once

#include "core/base/result.hpp"
#include "core/engine/request.hpp"
#include "core/store/generation_config.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::generate {

constexpr uint32_t usual_draft_tokens = 5;
constexpr uint32_t usual_ngram_max = 3;
constexpr uint32_t confident_draft_tokens = 16; ///< maximum if the draft model's confidence decides

/// Speculative decoding settings; an empty one is taken from elsewhere. At most one of the first two is set.
/// Names follow OpenVINO Model Server's API: num_assistant_tokens, assistant_confidence_threshold,
/// max_ngram_size.
struct SpeculationOverrides {
    std::optional<uint32_t> tokens_max = {}; ///< drafts per step; 0: none
    std::optional<float> confidence_min =
        {}; ///< instead: draft while the draft model's confidence is at least this, [0, 1]
    std::optional<uint32_t> ngram_max = {}; ///< prompt lookup with n-grams of up to this length; 0: off
};

/// Returns `overrides`, with unset members taken from `others`.
SpeculationOverrides over(const SpeculationOverrides& overrides, const SpeculationOverrides& others);

/// Returns the recommendations of the model's generation_config.json. Values out of range are ignored with a
/// warning in the log.
SpeculationOverrides recommended_speculation(const store::GenerationConfig& config);

/// The models that an engine can draft with.
struct DraftModels {
    bool has_model = false; ///< a draft model
    bool has_head = false;  ///< the model's draft head, which is used if there is no draft model
};

/// Returns the engine's speculation options; empty if nothing can draft.
std::optional<engine::Speculation> speculation(const SpeculationOverrides& overrides, DraftModels models,
                                               std::vector<TokenId> prediction);

/// Checks that two models share a vocabulary, so that one can draft for the other. Errors: invalid_argument,
/// with the first difference.
Status check_same_vocabulary(const text::Tokenizer& model, const text::Tokenizer& draft);

} // namespace etna::generate
