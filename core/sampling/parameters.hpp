#pragma once

#include "core/base/result.hpp"
#include "core/sampling/history.hpp"

#include <cstdint>

namespace etna::sampling {

/// Parameters of sampling one token from a row of logits. A parameter at its neutral value has no effect. The
/// steps, in this order:
///
/// 1. Logits are changed: logit bias, repetition penalty, frequency and presence penalty, DRY. A finite logit
///    stays finite: each change is clamped to the range of float.
/// 2. Filters remove candidates, each on the distribution that the previous one left (renormalised):
///    top-n-sigma, top-k, typical, top-p, min-p, XTC. None leaves fewer than min_keep of its input, or than
///    one. Tokens with a logit of -infinity are impossible and are excluded from every step.
/// 3. Temperature, then one draw.
///
/// Temperature 0 is greedy: the largest logit after step 1, the smallest id among equals, regardless of the
/// filters. Order and neutral values are those of llama.cpp. Lists belong to Context (sampler.hpp); each step
/// is defined in logit_processors.hpp and filters.hpp.
struct Parameters {
    float temperature = 0.8F; ///< >= 0
    uint32_t top_k = 40;      ///< number of most likely tokens to consider; 0: all
    float top_p = 0.95F;      ///< smallest set with at least this probability, (0, 1]; 1: all
    float min_p = 0.05F;      ///< drop tokens below min_p x the most likely one's probability, [0, 1]
    uint32_t seed = 0;        ///< RNG seed; with the position it determines the draw

    float typical_p = 1;             ///< probability of the most typical set, (0, 1]; 1: all
    float top_n_sigma = 0;           ///< keep logits within this many standard deviations, >= 0; 0: all
    float xtc_probability = 0;       ///< probability that XTC removes the top choices, [0, 1]; 0: never
    float xtc_threshold = 0.1F;      ///< minimum probability of a top choice, [0, 1]
    uint32_t min_keep = 0;           ///< minimum number of candidates that a filter leaves
    float repetition_penalty = 1;    ///< on tokens of prompt and output, (0, 100]; 1 is neutral
    float presence_penalty = 0;      ///< once for each token in the output, [-100, 100]
    float frequency_penalty = 0;     ///< for each occurrence of a token in the output, [-100, 100]
    float dry_multiplier = 0;        ///< strength of DRY, [0, 100]; 0 is neutral
    float dry_base = 1.75F;          ///< growth per token of a repetition, [1, 100]
    uint32_t dry_allowed_length = 2; ///< longest repetition that may continue unpenalised, plus 1; >= 1

    // Number of tokens at the end of the history that count.
    uint32_t repetition_window_tokens = 64;
    uint32_t presence_window_tokens = full_history;
    uint32_t frequency_window_tokens = full_history;
    uint32_t dry_window_tokens = full_history;
};

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Parameters& parameters);

/// Whether step 1 changes logits, for some history.
bool changes_logits(const Parameters& parameters);

/// Whether everything beyond temperature, top-k, top-p and min-p is neutral (or without effect, at
/// temperature 0).
bool is_plain(const Parameters& parameters);

} // namespace etna::sampling
