#include "server/faces/anthropic/message_blocks.hpp"

#include "server/base/ids.hpp"

#include <algorithm>

namespace etna::server::anthropic {

Json MessageBlocks::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        add_text(text->text);
    } else if (const auto* parsed = std::get_if<output::Event>(&event)) {
        take_output(*parsed);
    } else if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        finish(*finished);
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
        ++calls_;
        return close();
    case Kind::call_broken: // no text is lost: the model's own text follows
        if (open_ == Open::call)
            close(BlockEnd::broken);
        return add_text(event.text);
    }
}

void MessageBlocks::add_text(std::string_view text) {
    if (text.empty())
        return;
    if (open_ != Open::text)
        open(Open::text, {{"type", "text"}, {"text", ""}, {"citations", nullptr}});
    text_ += text;
    send_delta({{"type", "text_delta"}, {"text", text}});
}

void MessageBlocks::add_thinking(std::string_view text) {
    if (options_.display == ThinkingDisplay::none)
        return;
    if (open_ != Open::thinking)
        open(Open::thinking, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
    text_ += text;
    if (options_.display == ThinkingDisplay::shown)
        send_delta({{"type", "thinking_delta"}, {"thinking", text}});
}

void MessageBlocks::begin_call(const output::Event& event) {
    open(Open::call, {{"type", "tool_use"},
                      {"id", event.id.empty() ? new_id("toolu_") : event.id},
                      {"name", event.name},
                      {"input", Json::object()}});
}

void MessageBlocks::add_arguments(std::string_view text) {
    text_ += text;
    send_delta({{"type", "input_json_delta"}, {"partial_json", text}});
}

void MessageBlocks::finish(const generate::Finished& finished) {
    using Reason = generate::FinishReason;
    close(open_ == Open::call ? BlockEnd::cut : BlockEnd::complete);
    const bool has_sequence = std::find(options_.stop_sequences.begin(), options_.stop_sequences.end(),
                                        finished.matched) != options_.stop_sequences.end();
    switch (finished.finish_reason) {
    case Reason::stop:
        stop_reason_ = has_sequence ? "stop_sequence" : "end_turn";
        if (has_sequence)
            sequence_ = finished.matched;
        break;
    case Reason::tool_calls:
        stop_reason_ = "tool_use";
        break;
    case Reason::length:
        stop_reason_ = finished.prompt_tokens + finished.generated_tokens >= options_.context_tokens
                           ? "model_context_window_exceeded"
                           : "max_tokens";
        break;
    case Reason::cancelled: // stopped after its only call, or the client disconnected
        stop_reason_ = is_complete() ? "tool_use" : "end_turn";
        break;
    }
}

void MessageBlocks::open(Open kind, Json block) {
    close();
    open_ = kind;
    block_ = std::move(block);
    text_.clear();
    events_.push_back({{"type", "content_block_start"}, {"index", blocks_}, {"content_block", block_}});
}

void MessageBlocks::close(BlockEnd end) {
    if (open_ == Open::nothing)
        return;
    if (open_ == Open::text) {
        block_["text"] = text_;
    } else if (open_ == Open::thinking) {
        const bool is_hidden = options_.display == ThinkingDisplay::hidden;
        block_["thinking"] = is_hidden ? std::string() : text_;
        block_["signature"] = seal_.sign(text_, is_hidden);
        send_delta({{"type", "signature_delta"}, {"signature", block_["signature"]}});
    } else if (end == BlockEnd::complete) {
        block_["input"] = parse_json(text_);
    }
    events_.push_back({{"type", "content_block_stop"}, {"index", blocks_}});
    ++blocks_;
    if (end != BlockEnd::broken)
        content_.push_back(std::move(block_));
    open_ = Open::nothing;
}

void MessageBlocks::send_delta(Json delta) {
    events_.push_back({{"type", "content_block_delta"}, {"index", blocks_}, {"delta", std::move(delta)}});
}

} // namespace etna::server::anthropic
