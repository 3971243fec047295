#pragma once

#include "core/base/result.hpp"
#include "core/engine/speculation.hpp"
#include "core/store/generation_config.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::generate {

constexpr uint32_t usual_draft_tokens = 5;
constexpr uint32_t usual_ngram_max = 3;
constexpr uint32_t confident_draft_tokens = 16; ///< at most, where the draft model's confidence decides

/// How tokens are to be drafted; what is empty is somebody else's choice. One of the first two at most. Names
/// of OpenVINO Model Server's API: num_assistant_tokens, assistant_confidence_threshold, max_ngram_size.
struct SpeculationWishes {
    std::optional<uint32_t> tokens_max = {}; ///< drafts of one step; 0: none
    std::optional<float> confidence_min =
        {};                                 ///< instead: the draft model goes on while it is so sure, [0, 1]
    std::optional<uint32_t> ngram_max = {}; ///< look up runs of so many tokens of the text; 0: do not
};

/// `wishes` where they are set, else `others`.
SpeculationWishes over(const SpeculationWishes& wishes, const SpeculationWishes& others);

/// What the file beside a model recommends. Values out of range are ignored with a warning in the log.
SpeculationWishes recommended_speculation(const store::GenerationConfig& config);

/// What the engine is asked for. `has_model`: it has a draft model. Empty where nothing can draft.
std::optional<engine::Speculation> speculation(const SpeculationWishes& wishes, bool has_model,
                                               std::vector<TokenId> prediction);

/// Whether two models speak of the same tokens, so that one may draft for the other. Errors:
/// invalid_argument, with the first that differs.
Status check_same_vocabulary(const text::Tokenizer& model, const text::Tokenizer& draft);

} // namespace etna::generate
