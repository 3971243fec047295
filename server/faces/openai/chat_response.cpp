#include "server/faces/openai/chat_response.hpp"

#include "server/base/ids.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::openai {
namespace {

Json list_of(Json item) {
    Json list = Json::array();
    list.push_back(std::move(item));
    return list;
}

/// A delta of a custom tool's input; an empty one ends it.
Json input_piece(std::size_t call, const std::string& text) {
    return {{"index", call}, {"custom", {{"input", text}}}};
}

} // namespace

Json logprobs_json(const std::vector<api::EmittedToken>& tokens, TokenNames names) {
    return {{"content", api::logprobs_list(tokens, names)}, {"refusal", nullptr}};
}

std::optional<Json> ChatChoiceStream::begin() {
    return choice({{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}});
}

std::optional<Json> ChatChoiceStream::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event))
        return choice({{"content", text->text}});
    if (const auto* output = std::get_if<output::Event>(&event))
        return take_output(*output);
    if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        pending_.add(*token);
        return std::nullopt;
    }
    if (const auto* tokens = std::get_if<generate::FinalTokens>(&event))
        pending_.add(*tokens);
    if (const auto* finished = std::get_if<generate::Finished>(&event))
        return end(*finished);
    return std::nullopt;
}

Json ChatChoiceStream::end(const generate::Finished& finished) {
    Json delta = Json::object();
    if (Json ends = ends_of_truncated_inputs(); !ends.empty())
        delta["tool_calls"] = std::move(ends);
    Json last = choice(std::move(delta));
    last["finish_reason"] = finished.finish_reason == generate::FinishReason::cancelled && calls_done_ > 0
                                ? "tool_calls" // stopped after its only call
                                : generate::to_string(finished.finish_reason);
    return last;
}

std::optional<Json> ChatChoiceStream::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    const auto call = std::find_if(calls_.begin(), calls_.end(),
                                   [&](const StartedCall& started) { return started.call == event.call; });
    const auto index = static_cast<std::size_t>(call - calls_.begin());
    switch (event.kind) {
    case Kind::reasoning:
        return choice({{"reasoning_content", event.text}});
    case Kind::call_started:
        return choice({{"tool_calls", list_of(begin_call(event))}});
    case Kind::call_arguments:
        return add_arguments(index, event.text);
    case Kind::call_broken: // all of the model's text, although part of it may have been sent as a call
        return choice({{"content", event.text}});
    case Kind::call_done:
        ++calls_done_;
        return end_call(index);
    case Kind::content_was_reasoning: // already sent reasoning is not retracted
    case Kind::content:
        break;
    }
    return std::nullopt;
}

Json ChatChoiceStream::begin_call(const output::Event& event) {
    const bool is_custom = options_.custom_tools.contains(event.name);
    const char* const type = is_custom ? "custom" : "function";
    Json call = {{"index", calls_.size()},
                 {"id", event.id.empty() ? new_id("call_") : event.id},
                 {"type", type},
                 {type, {{"name", event.name}, {is_custom ? "input" : "arguments", ""}}}};
    calls_.push_back({.call = event.call, .input = {}, .is_done = false});
    if (is_custom)
        calls_.back().input.emplace();
    return call;
}

/// For a custom tool, sends the input text instead of its JSON.
std::optional<Json> ChatChoiceStream::add_arguments(std::size_t index, const std::string& arguments) {
    std::optional<CustomInput>& input = calls_.at(index).input;
    if (!input) {
        return choice(
            {{"tool_calls", list_of({{"index", index}, {"function", {{"arguments", arguments}}}})}});
    }
    const std::string text = input->push(arguments);
    if (text.empty())
        return std::nullopt;
    return choice({{"tool_calls", list_of(input_piece(index, text))}});
}

std::optional<Json> ChatChoiceStream::end_call(std::size_t index) {
    calls_.at(index).is_done = true;
    if (!calls_[index].input)
        return std::nullopt;
    return choice({{"tool_calls", list_of(input_piece(index, ""))}});
}

/// End pieces for custom calls that were cut off after their input text: the missing JSON adds nothing to it.
Json ChatChoiceStream::ends_of_truncated_inputs() const {
    Json ends = Json::array();
    for (std::size_t index = 0; index < calls_.size(); ++index) {
        const StartedCall& call = calls_[index];
        if (call.input && call.input->is_over() && !call.is_done)
            ends.push_back(input_piece(index, ""));
    }
    return ends;
}

/// The delta with the logprobs of the tokens that are final.
Json ChatChoiceStream::choice(Json delta) {
    const std::vector<api::EmittedToken> tokens = pending_.take_final();
    Json piece = {{"index", index_}, {"delta", std::move(delta)}, {"finish_reason", nullptr}};
    if (options_.includes_logprobs)
        piece["logprobs"] = tokens.empty() ? Json(nullptr) : logprobs_json(tokens, options_.token_names);
    return piece;
}

void ChatAggregator::add(const Json& piece) {
    index_ = piece["index"];
    if (!piece["finish_reason"].is_null())
        finish_reason_ = piece["finish_reason"];
    const Json& delta = piece["delta"];
    if (!delta.empty())
        ends_in_call_ = delta.contains("tool_calls");
    if (delta.contains("content"))
        content_ = content_.value_or("") + delta["content"].get<std::string>();
    if (delta.contains("reasoning_content"))
        reasoning_ += delta["reasoning_content"].get<std::string>();
    for (const Json& call : delta.value("tool_calls", Json::array()))
        add_call(call);
    const Json logprobs = piece.value("logprobs", Json());
    if (!logprobs.is_null() && logprobs_.is_null()) {
        logprobs_ = logprobs;
    } else if (!logprobs.is_null()) {
        for (const Json& token : logprobs["content"])
            logprobs_["content"].push_back(token);
    }
}

void ChatAggregator::add_call(const Json& call) {
    const char* const type = call.contains("custom") ? "custom" : "function";
    const char* const member = call.contains("custom") ? "input" : "arguments";
    const auto index = call["index"].get<std::size_t>();
    if (index == calls_.size()) {
        calls_.push_back({{"id", call["id"]}, {"type", type}, {type, call[type]}});
    } else {
        Json& text = calls_[index][type][member];
        const std::string delta = call[type][member];
        text = text.get<std::string>() + delta;
        if (delta.empty() && call.contains("custom"))
            ended_inputs_.insert(index);
    }
}

bool ChatAggregator::is_complete_call(std::size_t index) const {
    const Json& call = calls_[index];
    if (call["type"] == "custom")
        return ended_inputs_.contains(index);
    return parse_json(call["function"]["arguments"].get<std::string>()).is_object();
}

/// Broken calls are left out, because their text is content. A call that was cut off is the last piece of its
/// answer; its arguments are not JSON.
Json ChatAggregator::calls() const {
    Json calls = Json::array();
    for (std::size_t call = 0; call < calls_.size(); ++call) {
        const bool is_cut = ends_in_call_ && call + 1 == calls_.size() && finish_reason_ != "tool_calls";
        if (is_cut || is_complete_call(call))
            calls.push_back(calls_[call]);
    }
    return calls;
}

Json ChatAggregator::result() const {
    Json message = {{"role", "assistant"}};
    Json calls = this->calls();
    const bool has_text = content_ && !content_->empty();
    message["content"] = has_text || calls.empty() ? Json(content_.value_or("")) : Json(nullptr);
    message["refusal"] = nullptr;
    if (!reasoning_.empty())
        message["reasoning_content"] = reasoning_;
    if (!calls.empty())
        message["tool_calls"] = std::move(calls);
    return {{"index", index_},
            {"message", std::move(message)},
            {"logprobs", logprobs_},
            {"finish_reason", finish_reason_}};
}

} // namespace etna::server::openai
