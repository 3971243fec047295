#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/parameters.hpp"
#include "core/store/generation_config.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

/// Sampling parameters set by a caller, as in sampling::Parameters; an empty one takes the model's default.
struct SamplingOverrides {
    std::optional<float> temperature = {};
    std::optional<uint32_t> top_k = {};
    std::optional<float> top_p = {};
    std::optional<float> min_p = {};
    std::optional<float> typical_p = {};
    std::optional<float> top_n_sigma = {};
    std::optional<float> xtc_probability = {};
    std::optional<float> xtc_threshold = {};
    std::optional<uint32_t> min_keep = {};
    std::optional<float> repetition_penalty = {};
    std::optional<uint32_t> repetition_window_tokens = {};
    std::optional<float> presence_penalty = {};
    std::optional<uint32_t> presence_window_tokens = {};
    std::optional<float> frequency_penalty = {};
    std::optional<uint32_t> frequency_window_tokens = {};
    std::optional<float> dry_multiplier = {};
    std::optional<float> dry_base = {};
    std::optional<uint32_t> dry_allowed_length = {};
    std::optional<uint32_t> dry_window_tokens = {};
};

/// Reads the recommendations of the model's file: `general.sampling.temp`, `.top_k`, `.top_p`, `.min_p`,
/// `.xtc_probability`, `.xtc_threshold`, `.penalty_repeat` and `.penalty_last_n`, where -1 is the full
/// history (keys as llama.cpp writes them). Values out of range or of another type are ignored with a warning
/// in the log.
SamplingOverrides recommended_sampling(const gguf::File& file);

/// Overrides `overrides` with the recommendations of the model's generation_config.json. Values out of range
/// are ignored with a warning in the log.
void apply(const store::GenerationConfig& config, SamplingOverrides& overrides);

/// Returns `defaults` overridden by `overrides`.
sampling::Parameters with_overrides(sampling::Parameters defaults, const SamplingOverrides& overrides);

/// Returns `others` overridden by `overrides`.
SamplingOverrides over(const SamplingOverrides& overrides, SamplingOverrides others);

/// Returns a seed from the operating system's random source.
uint32_t random_seed();

/// Returns the seed of choice `index` if the first choice has seed `first`; wraps around to the lowest value.
int64_t choice_seed(int64_t first, std::size_t index);

/// Converts a seed to the sampler's: identity for seeds up to 32 bits, so that these stay distinct; a mix of
/// both halves for larger ones.
uint32_t sampler_seed(int64_t seed);

constexpr uint32_t dry_breakers_max = 64;      ///< strings per request
constexpr uint32_t dry_breaker_bytes_max = 40; ///< per string

/// Newline, colon, double quote and asterisk, as DRY's author proposes.
std::vector<std::string> default_dry_breakers();

/// Returns the tokens that spell DRY's sequence breakers: each token whose text contains the string, and each
/// token whose text ends with a prefix of the string, followed by the tokens of the remainder. Control tokens
/// have no text. Time is linear in the vocabulary. Errors: invalid_argument (a string is empty or too long,
/// or there are too many).
Result<sampling::SequenceBreakers> encode_dry_breakers(const text::Tokenizer& tokenizer,
                                                       std::span<const std::string> breakers);

} // namespace etna::generate
