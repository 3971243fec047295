#include "server/api/pending_logprobs.hpp"

#include "core/base/utf8.hpp"
#include "server/fields.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

/// The stop strings that are removed from the text; none if they are included in it.
std::vector<std::string> removed_stops(const generate::Request& request) {
    return request.matched_stop == generate::MatchedStop::excluded ? request.stop
                                                                   : std::vector<std::string>();
}

/// Incomplete UTF-8 becomes U+FFFD in `token`; `bytes` has the raw bytes.
Json token_json(const generate::TokenLogprob& token, TokenNames names) {
    Json bytes = Json::array();
    for (const char byte : token.bytes)
        bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", names == TokenNames::ids ? token_id_name(token.token) : token.bytes},
            {"logprob", token.logprob},
            {"bytes", std::move(bytes)}};
}

} // namespace

std::string token_id_name(TokenId token) {
    return fmt::format("token_id:{}", token);
}

Json logprobs_list(const std::vector<EmittedToken>& tokens, TokenNames names) {
    Json content = Json::array();
    for (const auto& [token, characters] : tokens) {
        Json entry = token_json(token.chosen, names);
        entry["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& top : token.top)
            entry["top_logprobs"].push_back(token_json(top, names));
        content.push_back(std::move(entry));
    }
    return content;
}

PendingLogprobs::PendingLogprobs(const generate::Request& request, const text::Tokenizer& tokenizer,
                                 text::TextPosition position)
    : tokenizer_(&tokenizer), control_(request.control_tokens),
      hides_space_(tokenizer.strips_leading_space() && position == text::TextPosition::start),
      stops_(removed_stops(request)), matcher_(stops_), exempt_tokens_(request.min_tokens) {}

/// The visible text of a token.
std::string_view PendingLogprobs::visible_text(const generate::TokenLogprob& token) {
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

void PendingLogprobs::add(generate::TokenDelta token) {
    const std::string_view bytes = visible_text(token.chosen);
    const std::size_t begin = bytes_;
    const std::size_t characters = characters_in(bytes);
    bytes_ += bytes.size();
    final_bytes_ = exempt_tokens_ > 0 ? bytes_ : final_bytes_ + matcher_.push(bytes).size();
    exempt_tokens_ -= exempt_tokens_ > 0 ? 1 : 0;
    waiting_.push_back(
        {.token = {.token = std::move(token), .characters = characters}, .begin = begin, .end = bytes_});
}

/// A token without visible text cannot be removed by a stop string, and is released with the preceding token.
std::vector<EmittedToken> PendingLogprobs::take_final() {
    const auto end = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
        return waiting.begin >= final_bytes_ && waiting.end > final_bytes_;
    });
    std::vector<EmittedToken> emitted;
    std::transform(waiting_.begin(), end, std::back_inserter(emitted),
                   [](Waiting& waiting) { return std::move(waiting.token); });
    waiting_.erase(waiting_.begin(), end);
    return emitted;
}

std::vector<EmittedToken> PendingLogprobs::take_last(const generate::Finished& finished,
                                                     std::string_view stop) {
    const auto matched = matcher_.matched();
    const bool has_removed_text = finished.finish_reason == generate::FinishReason::stop && matched &&
                                  stops_[*matched] == finished.matched;
    if (!has_removed_text)
        final_bytes_ = bytes_;
    std::vector<EmittedToken> emitted = take_final();
    if (!stop.empty() && finished.end_token)
        emitted.push_back({.token = *finished.end_token, .characters = characters_in(stop)});
    return emitted;
}

std::vector<std::string> included_stops(const generate::Request& request, const text::Tokenizer& tokenizer) {
    std::vector<std::string> stops;
    if (request.matched_stop == generate::MatchedStop::excluded)
        return stops;
    for (const TokenId token : request.stop_tokens) {
        const bool is_hidden = tokenizer.type(token) == text::TokenType::control &&
                               request.control_tokens == text::ControlTokens::hidden;
        std::string text(tokenizer.bytes(token));
        const bool is_string = // reported with the text
            std::find(request.stop.begin(), request.stop.end(), text) != request.stop.end();
        if (!is_hidden && !is_string)
            stops.push_back(std::move(text));
    }
    return stops;
}

std::string included_stop(const std::vector<std::string>& stops, const generate::Finished& finished) {
    const bool is_included = finished.finish_reason == generate::FinishReason::stop &&
                             std::find(stops.begin(), stops.end(), finished.matched) != stops.end();
    return is_included ? repaired_utf8(finished.matched) : std::string();
}

} // namespace etna::server::api
