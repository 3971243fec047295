#include "server/openai/untold_tokens.hpp"

#include "server/fields.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The stop strings that are removed from the text; none if they are included in it.
std::vector<std::string> taking_stops(const generate::Request& request) {
    return request.matched_stop == generate::MatchedStop::excluded ? request.stop
                                                                   : std::vector<std::string>();
}

} // namespace

std::string name_by_id(TokenId token) {
    return fmt::format("token_id:{}", token);
}

UntoldTokens::UntoldTokens(const generate::Request& request, const text::Tokenizer& tokenizer,
                           text::TextPosition position)
    : tokenizer_(&tokenizer), control_(request.control_tokens),
      hides_space_(tokenizer.strips_leading_space() && position == text::TextPosition::start),
      stops_(taking_stops(request)), matcher_(stops_), free_tokens_(request.min_tokens) {}

/// The visible text of a token.
std::string_view UntoldTokens::shown(const generate::TokenLogprob& token) {
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

void UntoldTokens::add(generate::TokenDelta token) {
    const std::string_view bytes = shown(token.chosen);
    const std::size_t begin = bytes_;
    const std::size_t characters = characters_in(bytes);
    bytes_ += bytes.size();
    sure_ = free_tokens_ > 0 ? bytes_ : sure_ + matcher_.push(bytes).size();
    free_tokens_ -= free_tokens_ > 0 ? 1 : 0;
    waiting_.push_back(
        {.token = {.token = std::move(token), .characters = characters}, .begin = begin, .end = bytes_});
}

/// A token without visible text cannot be removed by a stop string, and is released with the preceding token.
std::vector<ToldToken> UntoldTokens::take() {
    const auto held = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const Waiting& one) { return one.begin >= sure_ && one.end > sure_; });
    std::vector<ToldToken> told;
    std::transform(waiting_.begin(), held, std::back_inserter(told),
                   [](Waiting& one) { return std::move(one.token); });
    waiting_.erase(waiting_.begin(), held);
    return told;
}

std::vector<ToldToken> UntoldTokens::take_last(const generate::Finished& finished, std::string_view stop) {
    const auto matched = matcher_.matched();
    const bool is_cut = finished.finish_reason == generate::FinishReason::stop && matched &&
                        stops_[*matched] == finished.matched;
    if (!is_cut)
        sure_ = bytes_;
    std::vector<ToldToken> told = take();
    if (!stop.empty() && finished.end_token)
        told.push_back({.token = *finished.end_token, .characters = characters_in(stop)});
    return told;
}

} // namespace etna::server::openai
