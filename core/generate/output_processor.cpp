#include "core/generate/output_processor.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace etna::generate {

text::DetokenizeOptions detokenize_options(const Prompt& prompt, const Request& request) {
    return {.control = request.control_tokens, .position = prompt.answer, .shown = prompt.markers};
}

Result<AnswerText> make_answer_text(const Prompt& prompt, const Request& request) {
    ETNA_TRY(auto parser, make_parser(prompt));
    return AnswerText({.stop = request.stop,
                       .scope = request.stop_scope,
                       .matched = request.matched_stop,
                       .has_tools = !prompt.tools.empty()},
                      std::move(parser));
}

Result<OutputProcessor> OutputProcessor::create(const text::Tokenizer& tokenizer, const Prompt& prompt,
                                                const Request& request, Sink sink) {
    ETNA_TRY(auto text, make_answer_text(prompt, request));
    return OutputProcessor(tokenizer, prompt, request, std::move(sink), std::move(text));
}

OutputProcessor::OutputProcessor(const text::Tokenizer& tokenizer, const Prompt& prompt,
                                 const Request& request, Sink sink, AnswerText text)
    : tokenizer_(&tokenizer), prompt_(&prompt), request_(&request), sink_(std::move(sink)),
      prompt_detokenizer_(*tokenizer_, {.control = text::ControlTokens::shown}),
      detokenizer_(*tokenizer_, detokenize_options(prompt, request)), text_(std::move(text)) {}

void OutputProcessor::begin() {
    if (request_->prompt_logprobs)
        send(first_prompt_token());
}

bool OutputProcessor::push_prompt_token(const engine::TokenEvent& event) {
    PromptTokenDelta delta = prompt_delta(event.token);
    delta.likelihood = token_delta(event);
    delta.rank = event.rank;
    send(delta);
    return stopped();
}

/// A BOS token that the tokenizer prepended is not part of the prompt's text.
PromptTokenDelta OutputProcessor::first_prompt_token() {
    const TokenId token = prompt_->content.tokens.front();
    const bool is_prepended = tokenizer_->type(token) == text::TokenType::control && !prompt_->text.empty() &&
                              !prompt_->text.starts_with(tokenizer_->bytes(token));
    if (is_prepended)
        return {.token = token, .bytes = std::string(tokenizer_->bytes(token)), .text = {}};
    return prompt_delta(token);
}

PromptTokenDelta OutputProcessor::prompt_delta(TokenId token) {
    return {.token = token,
            .bytes = std::string(tokenizer_->bytes(token)),
            .text = std::string(prompt_detokenizer_.push(token))};
}

bool OutputProcessor::push(const engine::TokenEvent& event) {
    tokens_.push_back(event.token);
    if (request_->logprobs)
        send(token_delta(event));
    push_text(detokenizer_.push(event.token));
    reasoning_tokens_ += is_reasoning_ ? 1 : 0;
    return stopped();
}

/// Stop strings are matched only after the first min_tokens tokens.
void OutputProcessor::push_text(std::string_view text) {
    text_bytes_ += text.size();
    if (request_->logprobs && token_ends_.size() < tokens_.size())
        token_ends_.push_back(text_bytes_ + detokenizer_.waiting_bytes());
    const bool is_exempt = tokens_.size() <= request_->min_tokens;
    const auto events = text_.push(text, is_exempt ? AnswerText::Stops::ignored : AnswerText::Stops::found);
    report_final_tokens();
    deliver(events);
}

/// A token without text cannot be removed by a stop string, and is final with the preceding token.
void OutputProcessor::report_final_tokens() {
    const std::size_t bytes = text_.final_bytes();
    const auto begin = [&](std::size_t token) { return token == 0 ? 0 : token_ends_[token - 1]; };
    while (final_tokens_ < token_ends_.size() &&
           (begin(final_tokens_) < bytes || token_ends_[final_tokens_] <= bytes))
        ++final_tokens_;
    if (request_->logprobs && reported_tokens_ != final_tokens_)
        send(FinalTokens{reported_tokens_ = final_tokens_});
}

void OutputProcessor::finish(std::optional<TokenId> end_token,
                             const std::optional<engine::TokenEvent>& end_event, bool is_complete) {
    push_text(detokenizer_.flush());
    const bool has_ended = is_complete || text_.matched();
    // The end-of-turn token may also end a call.
    const bool is_marker =
        end_token && std::binary_search(prompt_->markers.begin(), prompt_->markers.end(), *end_token);
    const auto last = text_.finish(is_marker ? tokenizer_->bytes(*end_token) : std::string_view(),
                                   has_ended ? output::Ending::complete : output::Ending::cut_off);
    const bool has_removed_text = text_.matched() && request_->matched_stop == MatchedStop::excluded;
    if (!has_removed_text)
        final_tokens_ = token_ends_.size();
    report_final_tokens();
    // Without an end token, a limit or a stop string cut the call off: do not show its syntax as text.
    deliver(last, end_token ? BrokenCalls::delivered : BrokenCalls::suppressed);
    if (end_token && !text_.matched() && shows_end(*end_token))
        deliver_end(*end_token, end_event);
}

/// Whether the text of the end token is part of the answer: of a stop token as that of a stop string, of the
/// model's own with the control tokens, unless it ended calls.
bool OutputProcessor::shows_end(TokenId token) const {
    const bool shows_control = request_->control_tokens == text::ControlTokens::shown;
    const auto& stops = request_->stop_tokens;
    if (std::find(stops.begin(), stops.end(), token) == stops.end())
        return shows_control && collector_.output().calls.empty();
    const bool is_control = tokenizer_->type(token) == text::TokenType::control;
    return request_->matched_stop == MatchedStop::included && (shows_control || !is_control);
}

void OutputProcessor::deliver_end(TokenId token, const std::optional<engine::TokenEvent>& event) {
    shown_end_ = token;
    if (request_->logprobs && event) {
        send(token_delta(*event));
        send(FinalTokens{reported_tokens_ = ++final_tokens_});
    }
    send(TextDelta{repaired_utf8(tokenizer_->bytes(token))});
}

std::string OutputProcessor::matched(std::optional<TokenId> end_token) const {
    if (text_.matched())
        return request_->stop[*text_.matched()];
    const auto& stops = request_->stop_tokens;
    if (end_token && std::find(stops.begin(), stops.end(), *end_token) != stops.end())
        return std::string(tokenizer_->bytes(*end_token));
    return {};
}

FinishReason OutputProcessor::reason() const {
    return text_.matched() ? FinishReason::stop : FinishReason::cancelled;
}

void OutputProcessor::deliver(std::span<const output::Event> events, BrokenCalls broken) {
    if (text_.has_parser())
        collector_.add(events);
    for (const output::Event& event : events) {
        is_reasoning_ = event.kind == output::EventKind::reasoning;
        if (event.kind == output::EventKind::content) {
            send(TextDelta{event.text});
        } else if (event.kind != output::EventKind::call_broken || broken == BrokenCalls::delivered) {
            send(event);
        }
    }
}

void OutputProcessor::send(const Event& event) {
    if (!sink_stopped_)
        sink_stopped_ = sink_(event) == SinkResult::stop;
}

TokenDelta OutputProcessor::token_delta(const engine::TokenEvent& event) const {
    const auto logprob_of = [&](TokenId token, float logit) {
        // Rounding may put log_sum_exp below a logit that dominates the sum.
        return TokenLogprob{token, std::string(tokenizer_->bytes(token)),
                            std::min(double{logit} - event.log_sum_exp, 0.0)};
    };
    TokenDelta delta{.chosen = logprob_of(event.token, event.logit), .top = {}};
    delta.top.reserve(event.top.size());
    for (const sampling::Candidate& candidate : event.top)
        delta.top.push_back(logprob_of(candidate.token, candidate.logit));
    return delta;
}

} // namespace etna::generate
