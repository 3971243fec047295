#include "core/generate/transcript.hpp"

#include "core/text/detokenizer.hpp"

#include <algorithm>
#include <utility>

namespace etna::generate {
namespace {

bool is_special(const text::Tokenizer& tokenizer, TokenId token) {
    const text::TokenType type = tokenizer.type(token);
    return type == text::TokenType::control || type == text::TokenType::user_defined;
}

} // namespace

Result<PromptTokens> Transcript::encode(const text::Tokenizer& tokenizer, const std::string& prompt,
                                        const text::EncodeOptions& options) const {
    if (!text_.empty() && prompt.size() > text_.size() && prompt.starts_with(text_)) {
        const std::string_view rest = std::string_view(prompt).substr(text_.size());
        ETNA_TRY(const auto tokens, tokenizer.encode(rest, {.bos = text::AddBos::never}));
        if (!tokens.empty() && is_special(tokenizer, tokens.front())) {
            PromptTokens all = known_;
            all.tokens.insert(all.tokens.end(), tokens.begin(), tokens.end());
            all.kinds.resize(all.tokens.size(), engine::RowKind::prefill);
            return all;
        }
    }
    ETNA_TRY(auto tokens, tokenizer.encode(prompt, options));
    const auto [agreed, unused] =
        std::mismatch(tokens.begin(), tokens.end(), known_.tokens.begin(), known_.tokens.end());
    std::vector<engine::RowKind> kinds(known_.kinds.begin(),
                                       known_.kinds.begin() + std::distance(tokens.begin(), agreed));
    kinds.resize(tokens.size(), engine::RowKind::prefill);
    return PromptTokens{std::move(tokens), std::move(kinds)};
}

void Transcript::record(const text::Tokenizer& tokenizer, const std::string& prompt, PromptTokens read,
                        const std::vector<TokenId>& written) {
    text_ = prompt +
            decode(tokenizer, written,
                   {.control = text::ControlTokens::shown, .position = text::TextPosition::continuation});
    known_ = std::move(read);
    known_.tokens.insert(known_.tokens.end(), written.begin(), written.end());
    known_.kinds.resize(known_.tokens.size(), engine::RowKind::decode);
}

} // namespace etna::generate
