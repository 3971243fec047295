#include "core/generate/pending_logprobs.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace etna::generate {

PendingLogprobs::PendingLogprobs(const Request& request, const text::Tokenizer& tokenizer,
                                 text::TextPosition position)
    : tokenizer_(&tokenizer), control_(request.control_tokens),
      hides_space_(tokenizer.strips_leading_space() && position == text::TextPosition::start) {}

/// The visible text of a token.
std::string_view PendingLogprobs::visible_text(const TokenLogprob& token) {
    const auto is_control = [&](text::TokenType type) {
        return type == text::TokenType::control || type == text::TokenType::unknown;
    };
    const bool is_hidden = tokenizer_ != nullptr && control_ == text::ControlTokens::hidden &&
                           is_control(tokenizer_->type(token.token));
    std::string_view bytes = is_hidden ? std::string_view() : token.bytes;
    if (hides_space_ && !bytes.empty()) {
        hides_space_ = false;
        bytes.remove_prefix(bytes.front() == ' ' ? 1 : 0);
    }
    return bytes;
}

void PendingLogprobs::add(TokenDelta token) {
    const std::size_t characters = characters_in(visible_text(token.chosen));
    waiting_.push_back({.token = std::move(token), .characters = characters});
}

void PendingLogprobs::clear() {
    taken_ += waiting_.size();
    waiting_.clear();
}

std::vector<EmittedToken> PendingLogprobs::take_final() {
    const std::size_t final_waiting = final_ - std::min(final_, taken_);
    const std::size_t count =
        tokenizer_ == nullptr ? waiting_.size() : std::min(final_waiting, waiting_.size());
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<EmittedToken> emitted(std::make_move_iterator(waiting_.begin()),
                                      std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    taken_ += count;
    return emitted;
}

} // namespace etna::generate
