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
    /// Precede a project's name and a file's name, for a prompt of several files; empty: not in the
    /// vocabulary. Source: Hui et al. 2024, "Qwen2.5-Coder", section 3.2.
    std::optional<TokenId> repository = {};
    std::optional<TokenId> file_separator = {};
};

/// Returns the model's tokens as listed in its file (`tokenizer.ggml.fim_pre_token_id`, `fim_suf`, `fim_mid`,
/// or `prefix`, `suffix`, `middle`; `fim_rep`, `fim_sep`), otherwise by the names of well-known families.
/// Empty if one of the first three is missing.
std::optional<InfillTokens> find_infill_tokens(const gguf::File& file, const Tokenizer& tokenizer);

} // namespace etna::text
