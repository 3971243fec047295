#pragma once

#include "core/base/token.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <optional>

namespace etna::text {

/// Tokens that ask a model to fill a gap: PREFIX text SUFFIX text MIDDLE, and the model writes what stands
/// between the texts. Source: Bavarian et al. 2022, "Efficient training of language models to fill in the
/// middle".
struct InfillTokens {
    TokenId prefix = 0;
    TokenId suffix = 0;
    TokenId middle = 0;
};

/// Those of the model: as its file lists them (`tokenizer.ggml.fim_pre_token_id`, `fim_suf`, `fim_mid`, or
/// `prefix`, `suffix`, `middle`), or else by the names of well-known families. Empty where one is missing.
std::optional<InfillTokens> find_infill_tokens(const gguf::File& file, const Tokenizer& tokenizer);

} // namespace etna::text
