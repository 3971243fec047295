#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/sampling/breakers.hpp"
#include "core/sampling/overrides.hpp"
#include "core/store/generation_config.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

/// Sampling parameters that a caller sets; an empty one takes the model's default.
using SamplingOverrides = sampling::Overrides;
using sampling::with_overrides;

/// Reads the recommendations of the model's file, sampling::Parameter::gguf. Values out of range or of
/// another type are ignored with a warning in the log.
SamplingOverrides recommended_sampling(const gguf::File& file);

/// Overrides `overrides` with the recommendations of the model's generation_config.json. Values out of range
/// are ignored with a warning in the log.
void apply(const store::GenerationConfig& config, SamplingOverrides& overrides);

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
