#include "core/generate/answer.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace etna::generate {
namespace {

text::DetokenizeOptions detokenize_options(const Prompt& prompt) {
    text::DetokenizeOptions options = {.position = prompt.answer};
    if (prompt.format != nullptr)
        options.shown = prompt.format->marks;
    return options;
}

} // namespace

Answer::Answer(const Model& model, Prompt& prompt, const Request& request, const Sink& sink)
    : tokenizer_(&model.tokenizer()), prompt_(&prompt), sink_(&sink),
      detokenizer_(*tokenizer_, detokenize_options(prompt)), stops_(request.stop),
      tells_tokens_(request.logprobs.has_value()) {}

bool Answer::push(const engine::TokenEvent& event) {
    tokens_.push_back(event.token);
    if (tells_tokens_)
        send(token_delta(event));
    parse(stops_.push(detokenizer_.push(event.token)));
    return stopped();
}

void Answer::finish(std::optional<TokenId> end_token) {
    const bool is_complete = end_token || stops_.matched();
    if (!stops_.matched()) {
        parse(stops_.push(detokenizer_.flush()));
        parse(stops_.flush());
    }
    if (!prompt_->parser)
        return;
    // The end of the turn may be the end of a call as well.
    if (end_token &&
        std::binary_search(prompt_->format->marks.begin(), prompt_->format->marks.end(), *end_token))
        parse(tokenizer_->bytes(*end_token));
    deliver(prompt_->parser->finish(is_complete ? chat::output::Ending::complete
                                                : chat::output::Ending::cut_off));
}

FinishReason Answer::reason() const {
    return stops_.matched() ? FinishReason::stop : FinishReason::cancelled;
}

void Answer::parse(std::string_view text) {
    if (text.empty())
        return;
    if (prompt_->parser) {
        deliver(prompt_->parser->push(text));
    } else {
        send(TextDelta{std::string(text)});
    }
}

void Answer::deliver(std::span<const chat::output::Event> events) {
    collector_.add(events);
    for (const chat::output::Event& event : events) {
        if (event.kind == chat::output::EventKind::content) {
            send(TextDelta{event.text});
        } else {
            send(event);
        }
    }
}

void Answer::send(const Event& event) {
    if (!refused_)
        refused_ = (*sink_)(event) == Flow::stop;
}

TokenDelta Answer::token_delta(const engine::TokenEvent& event) const {
    const auto logprob_of = [&](TokenId token, float logit) {
        // Rounding may put the sum below a logit that is nearly all of it.
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
