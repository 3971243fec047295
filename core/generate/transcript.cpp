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
    if (!text_.empty() && prompt.size() > text_.size() && prompt.starts_with(text_) &&
        has_same_barriers(options.barriers)) {
        const std::string_view rest = std::string_view(prompt).substr(text_.size());
        std::vector<std::size_t> barriers;
        for (const std::size_t barrier : options.barriers) {
            if (barrier > text_.size())
                barriers.push_back(barrier - text_.size());
        }
        text::EncodeOptions continued = options;
        continued.bos = text::AddBos::never;
        continued.barriers = barriers;
        ETNA_TRY(const auto tokens, tokenizer.encode(rest, continued));
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

/// Returns whether the prompt that was read had the same barriers. Those in the answer do not matter: its
/// tokens are known, whatever they spell.
bool Transcript::has_same_barriers(std::span<const std::size_t> barriers) const {
    const auto end = std::lower_bound(barriers.begin(), barriers.end(), prompt_bytes_);
    return std::equal(barriers.begin(), end, barriers_.begin(),
                      std::lower_bound(barriers_.begin(), barriers_.end(), prompt_bytes_));
}

void Transcript::record(const text::Tokenizer& tokenizer, const std::string& prompt,
                        std::span<const std::size_t> barriers, PromptTokens read,
                        const std::vector<TokenId>& written) {
    prompt_bytes_ = prompt.size();
    barriers_.assign(barriers.begin(), barriers.end());
    text_ = prompt +
            decode(tokenizer, written,
                   {.control = text::ControlTokens::shown, .position = text::TextPosition::continuation});
    known_ = std::move(read);
    known_.tokens.insert(known_.tokens.end(), written.begin(), written.end());
    known_.kinds.resize(known_.tokens.size(), engine::RowKind::decode);
}

} // namespace etna::generate
