#include "core/generate/collected_answer.hpp"

#include <utility>

namespace etna::generate {

void CollectedAnswer::take(const Event& event) {
    if (const auto* text = std::get_if<TextDelta>(&event)) {
        add(PartKind::text, text->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        take_output(*parsed);
    } else if (const auto* token = std::get_if<TokenDelta>(&event)) {
        tokens_.push_back(token->chosen.token);
        if (pending_)
            pending_->add(*token);
        take_final_logprobs();
    } else if (const auto* tokens = std::get_if<FinalTokens>(&event)) {
        if (pending_)
            pending_->add(*tokens);
        take_final_logprobs();
    } else if (const auto* prompt = std::get_if<PromptTokenDelta>(&event)) {
        if (keeps_prompt_)
            prompt_.push_back(*prompt);
    } else if (const auto* finished = std::get_if<Finished>(&event)) {
        finished_ = *finished;
    }
}

void CollectedAnswer::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    switch (event.kind) {
    case Kind::content:
        return add(PartKind::text, event.text);
    case Kind::reasoning:
        return add(PartKind::reasoning, event.text);
    case Kind::content_was_reasoning: // text that was delivered is not retracted
        return;
    case Kind::call_started:
        parts_.push_back({.kind = PartKind::open_call, .name = event.name, .id = event.id});
        return;
    case Kind::call_arguments:
        parts_.back().text += event.text;
        return;
    case Kind::call_done:
        parts_.back().kind = PartKind::complete_call;
        if (parts_.back().id.empty())
            parts_.back().id = event.id;
        ++complete_calls_;
        return;
    case Kind::call_broken:
        if (!parts_.empty() && parts_.back().kind == PartKind::open_call)
            parts_.back().kind = PartKind::broken_call;
        return add(PartKind::text, event.text);
    }
}

void CollectedAnswer::add(PartKind kind, std::string_view text) {
    if (parts_.empty() || parts_.back().kind != kind)
        parts_.push_back({.kind = kind});
    parts_.back().text += text;
}

void CollectedAnswer::take_final_logprobs() {
    if (!pending_)
        return;
    for (EmittedToken& token : pending_->take_final())
        logprobs_.push_back(std::move(token));
}

std::string CollectedAnswer::joined(PartKind kind) const {
    std::string all;
    for (const AnswerPart& part : parts_) {
        if (part.kind == kind)
            all += part.text;
    }
    return all;
}

} // namespace etna::generate
