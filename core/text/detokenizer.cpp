#include "core/text/detokenizer.hpp"

#include <algorithm>

namespace etna::text {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, DetokenizeOptions options)
    : tokenizer_(&tokenizer), options_(options),
      at_start_(tokenizer.strips_leading_space() && options.position == TextPosition::start) {}

std::string_view Detokenizer::push(TokenId token) {
    text_.clear();
    const TokenType type = tokenizer_->type(token);
    const bool is_control = type == TokenType::control || type == TokenType::unknown;
    const bool is_hidden = is_control && options_.control == ControlTokens::hidden &&
                           !std::binary_search(options_.shown.begin(), options_.shown.end(), token);
    if (is_hidden)
        return text_;
    std::string_view bytes = tokenizer_->bytes(token);
    if (at_start_ && !bytes.empty()) {
        at_start_ = false;
        if (bytes.front() == ' ')
            bytes.remove_prefix(1);
    }
    gate_.push(bytes, text_);
    return text_;
}

std::string_view Detokenizer::flush() {
    text_.clear();
    gate_.finish(text_);
    return text_;
}

std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> tokens, DetokenizeOptions options) {
    Detokenizer detokenizer(tokenizer, options);
    std::string text;
    for (const TokenId token : tokens)
        text += detokenizer.push(token);
    text += detokenizer.flush();
    return text;
}

} // namespace etna::text
