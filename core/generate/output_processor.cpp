#include "core/generate/output_processor.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace etna::generate {

text::DetokenizeOptions detokenize_options(const Prompt& prompt, const Request& request) {
    return {.control = request.control_tokens, .position = prompt.answer, .shown = prompt.markers};
}

Result<OutputProcessor> OutputProcessor::create(const Model& model, const Prompt& prompt,
                                                const Request& request, Sink sink) {
    ETNA_TRY(auto parser, make_parser(prompt));
    return OutputProcessor(model, prompt, request, std::move(sink), std::move(parser));
}

OutputProcessor::OutputProcessor(const Model& model, const Prompt& prompt, const Request& request, Sink sink,
                                 std::optional<output::Parser> parser)
    : tokenizer_(&model.tokenizer()), prompt_(&prompt), request_(&request), sink_(std::move(sink)),
      prompt_detokenizer_(*tokenizer_, {.control = text::ControlTokens::shown}),
      detokenizer_(*tokenizer_, detokenize_options(prompt, request)), stops_(request.stop),
      parser_(std::move(parser)) {}

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
    if (tokens_.size() <= request_->min_tokens)
        return parse(text);
    parse(stops_.push(text));
    if (stops_.matched() && request_->matched_stop == MatchedStop::included)
        parse(request_->stop[*stops_.matched()]);
}

void OutputProcessor::finish(std::optional<TokenId> end_token, bool is_complete) {
    const bool has_ended = is_complete || stops_.matched();
    if (!stops_.matched()) {
        push_text(detokenizer_.flush());
        parse(stops_.flush());
    }
    if (!parser_)
        return;
    // The end-of-turn token may also end a call.
    if (end_token && std::binary_search(prompt_->markers.begin(), prompt_->markers.end(), *end_token))
        parse(tokenizer_->bytes(*end_token));
    const auto last = parser_->finish(has_ended ? output::Ending::complete : output::Ending::cut_off);
    // Without an end token, a limit or a stop string cut the call off: do not show its syntax as text.
    deliver(last, end_token ? BrokenCalls::delivered : BrokenCalls::suppressed);
}

std::string OutputProcessor::matched(std::optional<TokenId> end_token) const {
    if (stops_.matched())
        return request_->stop[*stops_.matched()];
    const auto& stops = request_->stop_tokens;
    if (end_token && std::find(stops.begin(), stops.end(), *end_token) != stops.end())
        return std::string(tokenizer_->bytes(*end_token));
    return {};
}

FinishReason OutputProcessor::reason() const {
    return stops_.matched() ? FinishReason::stop : FinishReason::cancelled;
}

void OutputProcessor::parse(std::string_view text) {
    if (text.empty())
        return;
    if (parser_) {
        deliver(parser_->push(text));
    } else {
        send(TextDelta{std::string(text)});
    }
}

void OutputProcessor::deliver(std::span<const output::Event> events, BrokenCalls broken) {
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
