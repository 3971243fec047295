#pragma once

#include "core/base/result.hpp"
#include "core/sampling/breakers.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

constexpr uint32_t dry_breakers_max = 64;      ///< strings per request
constexpr uint32_t dry_breaker_bytes_max = 40; ///< per string

/// Newline, colon, double quote and asterisk, as DRY's author proposes.
std::vector<std::string> default_dry_breakers();

/// The tokens that spell DRY's sequence breakers: each token whose text contains the string, and each token
/// whose text ends with a prefix of the string, followed by the tokens of the remainder. Control tokens have
/// no text. Time is linear in the vocabulary. Errors: invalid_argument (a string is empty or too long, or
/// there are too many).
Result<sampling::SequenceBreakers> encode_dry_breakers(const text::Tokenizer& tokenizer,
                                                       std::span<const std::string> breakers);

} // namespace etna::generate
