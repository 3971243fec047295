#pragma once

#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <optional>

namespace etna::text {

/// Fill-in-the-middle tokens: the prompt is PREFIX text SUFFIX text MIDDLE, and the model generates the text
/// in between. Source: Bavarian et al. 2022, "Efficient training of language models to fill in the middle".
struct InfillTokens {
    TokenId prefix = 0;
    TokenId suffix = 0;
    TokenId middle = 0;
};

/// Returns the model's tokens as listed in its file (`tokenizer.ggml.fim_pre_token_id`, `fim_suf`, `fim_mid`,
/// or `prefix`, `suffix`, `middle`), otherwise by the names of well-known families. Empty if one is missing.
std::optional<InfillTokens> find_infill_tokens(const gguf::File& file, const Tokenizer& tokenizer);

} // namespace etna::text
