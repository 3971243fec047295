#include "server/faces/anthropic/message_blocks.hpp"

#include <algorithm>

namespace etna::server::anthropic {
namespace {

Json text_block(std::string_view text) {
    return {{"type", "text"}, {"text", text}, {"citations", nullptr}};
}

Json thinking_block(std::string_view thinking, std::string_view signature) {
    return {{"type", "thinking"}, {"thinking", thinking}, {"signature", signature}};
}

Json call_block(const std::string& id, const std::string& name, Json input) {
    return {{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", std::move(input)}};
}

std::string_view stop_reason(const BlockOptions& options, const generate::Finished& finished,
                             bool is_complete, bool has_sequence) {
    using Reason = generate::FinishReason;
    switch (finished.finish_reason) {
    case Reason::stop:
        return has_sequence ? "stop_sequence" : "end_turn";
    case Reason::tool_calls:
        return "tool_use";
    case Reason::length:
        return finished.prompt_tokens + finished.generated_tokens >= options.context_tokens
                   ? "model_context_window_exceeded"
                   : "max_tokens";
    case Reason::cancelled: // stopped after its only call, or the client disconnected
        break;
    }
    return is_complete ? "tool_use" : "end_turn";
}

} // namespace

Json stop_json(const BlockOptions& options, const generate::CollectedAnswer& answer) {
    const generate::Finished& finished = *answer.finished();
    const bool is_sequence = finished.finish_reason == generate::FinishReason::stop &&
                             std::find(options.stop_sequences.begin(), options.stop_sequences.end(),
                                       finished.matched) != options.stop_sequences.end();
    const bool is_complete = options.ends_after_call && answer.complete_calls() > 0;
    return {{"stop_reason", stop_reason(options, finished, is_complete, is_sequence)},
            {"stop_sequence", is_sequence ? Json(finished.matched) : Json(nullptr)},
            {"stop_details", nullptr},
            {"container", nullptr}};
}

Json content_json(const BlockOptions& options, const ThinkingSeal& seal,
                  const generate::CollectedAnswer& answer) {
    using Kind = generate::PartKind;
    Json blocks = Json::array();
    bool is_in_text = false; // thinking that is not shown does not divide it
    for (const generate::AnswerPart& part : answer.parts()) {
        if (part.kind == Kind::reasoning && options.display == ThinkingDisplay::none)
            continue;
        if (part.kind == Kind::text && is_in_text) {
            std::string& text = blocks.back()["text"].get_ref<std::string&>();
            text += part.text;
            continue;
        }
        is_in_text = part.kind == Kind::text;
        const bool is_hidden = options.display == ThinkingDisplay::hidden;
        if (part.kind == Kind::text) {
            blocks.push_back(text_block(part.text));
        } else if (part.kind == Kind::reasoning) {
            blocks.push_back(
                thinking_block(is_hidden ? std::string() : part.text, seal.sign(part.text, is_hidden)));
        } else if (part.kind != Kind::broken_call) {
            const bool is_whole = part.kind == Kind::complete_call;
            blocks.push_back(
                call_block(part.id, part.name, is_whole ? parse_json(part.text) : Json::object()));
        }
    }
    return blocks;
}

Json MessageBlocks::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        add_text(text->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        take_output(*parsed);
    } else if (std::holds_alternative<generate::Finished>(event)) {
        close();
    }
    return std::exchange(events_, Json::array());
}

void MessageBlocks::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    switch (event.kind) {
    case Kind::content:
        return add_text(event.text);
    case Kind::reasoning:
        return add_thinking(event.text);
    case Kind::content_was_reasoning: // text that was sent cannot be retracted
        return;
    case Kind::call_started:
        return begin_call(event);
    case Kind::call_arguments:
        return add_arguments(event.text);
    case Kind::call_done:
        return close();
    case Kind::call_broken: // no text is lost: the model's own text follows
        if (open_ == Open::call)
            close();
        return add_text(event.text);
    }
}

void MessageBlocks::add_text(std::string_view text) {
    if (text.empty())
        return;
    if (open_ != Open::text)
        open(Open::text, text_block(""));
    send_delta({{"type", "text_delta"}, {"text", text}});
}

void MessageBlocks::add_thinking(std::string_view text) {
    if (options_.display == ThinkingDisplay::none)
        return;
    if (open_ != Open::thinking)
        open(Open::thinking, thinking_block("", ""));
    thinking_ += text;
    if (options_.display == ThinkingDisplay::shown)
        send_delta({{"type", "thinking_delta"}, {"thinking", text}});
}

void MessageBlocks::begin_call(const output::Event& event) {
    open(Open::call, call_block(event.id, event.name, Json::object()));
}

void MessageBlocks::add_arguments(std::string_view text) {
    send_delta({{"type", "input_json_delta"}, {"partial_json", text}});
}

void MessageBlocks::open(Open kind, Json block) {
    close();
    open_ = kind;
    events_.push_back(
        {{"type", "content_block_start"}, {"index", blocks_}, {"content_block", std::move(block)}});
}

void MessageBlocks::close() {
    if (open_ == Open::nothing)
        return;
    if (open_ == Open::thinking) {
        const bool is_hidden = options_.display == ThinkingDisplay::hidden;
        const std::string signature = seal_.sign(std::exchange(thinking_, {}), is_hidden);
        send_delta({{"type", "signature_delta"}, {"signature", signature}});
    }
    events_.push_back({{"type", "content_block_stop"}, {"index", blocks_}});
    ++blocks_;
    open_ = Open::nothing;
}

void MessageBlocks::send_delta(Json delta) {
    events_.push_back({{"type", "content_block_delta"}, {"index", blocks_}, {"delta", std::move(delta)}});
}

} // namespace etna::server::anthropic
