#include "server/openai/chat_response.hpp"

#include "server/ids.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::openai {
namespace {

/// Incomplete UTF-8 becomes U+FFFD in `token`; `bytes` has the raw bytes.
Json token_json(const generate::TokenLogprob& token, TokenNames names) {
    Json bytes = Json::array();
    for (const char byte : token.bytes)
        bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", names == TokenNames::ids ? name_by_id(token.token) : token.bytes},
            {"logprob", token.logprob},
            {"bytes", std::move(bytes)}};
}

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

Json logprobs_json(const std::vector<ToldToken>& tokens, TokenNames names) {
    Json content = Json::array();
    for (const auto& [token, characters] : tokens) {
        Json one = token_json(token.chosen, names);
        one["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& top : token.top)
            one["top_logprobs"].push_back(token_json(top, names));
        content.push_back(std::move(one));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
}

std::optional<Json> ChatChoice::begin() {
    return choice({{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}});
}

std::optional<Json> ChatChoice::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event))
        return choice({{"content", text->text}});
    if (const auto* output = std::get_if<output::Event>(&event))
        return take_output(*output);
    if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        untold_.add(*token);
        return std::nullopt;
    }
    if (const auto* finished = std::get_if<generate::Finished>(&event))
        return end(*finished);
    return std::nullopt;
}

Json ChatChoice::end(const generate::Finished& finished) {
    const std::string stop = told_stop(form_.told_stops, finished);
    Json delta = stop.empty() ? Json::object() : Json({{"content", stop}});
    if (Json ends = ends_of_cut_inputs(); !ends.empty())
        delta["tool_calls"] = std::move(ends);
    Json last = choice(std::move(delta), untold_.take_last(finished, stop));
    last["finish_reason"] = finished.finish_reason == generate::FinishReason::cancelled && calls_done_ > 0
                                ? "tool_calls" // stopped after its only call
                                : generate::to_string(finished.finish_reason);
    return last;
}

std::optional<Json> ChatChoice::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    const auto begun =
        std::find_if(begun_.begin(), begun_.end(), [&](const Begun& one) { return one.call == event.call; });
    const auto index = static_cast<std::size_t>(begun - begun_.begin());
    switch (event.kind) {
    case Kind::reasoning:
        return choice({{"reasoning_content", event.text}});
    case Kind::call_started:
        return choice({{"tool_calls", list_of(begin_call(event))}});
    case Kind::call_arguments:
        return add_arguments(index, event.text);
    case Kind::call_broken: // sent as text, unless part of it has been sent as a call
        return begun == begun_.end() ? std::optional(choice({{"content", event.text}})) : std::nullopt;
    case Kind::call_done:
        ++calls_done_;
        return end_call(index);
    case Kind::content_was_reasoning: // already sent reasoning is not retracted
    case Kind::content:
        break;
    }
    return std::nullopt;
}

Json ChatChoice::begin_call(const output::Event& event) {
    const bool is_custom = form_.custom_tools.contains(event.name);
    const char* const type = is_custom ? "custom" : "function";
    Json call = {{"index", begun_.size()},
                 {"id", event.id.empty() ? new_id("call_") : event.id},
                 {"type", type},
                 {type, {{"name", event.name}, {is_custom ? "input" : "arguments", ""}}}};
    begun_.push_back({.call = event.call, .input = {}, .is_done = false});
    if (is_custom)
        begun_.back().input.emplace();
    return call;
}

/// For a custom tool, sends the input text instead of its JSON.
std::optional<Json> ChatChoice::add_arguments(std::size_t index, const std::string& arguments) {
    std::optional<CustomInput>& input = begun_.at(index).input;
    if (!input) {
        return choice(
            {{"tool_calls", list_of({{"index", index}, {"function", {{"arguments", arguments}}}})}});
    }
    const std::string text = input->push(arguments);
    if (text.empty())
        return std::nullopt;
    return choice({{"tool_calls", list_of(input_piece(index, text))}});
}

std::optional<Json> ChatChoice::end_call(std::size_t index) {
    begun_.at(index).is_done = true;
    if (!begun_[index].input)
        return std::nullopt;
    return choice({{"tool_calls", list_of(input_piece(index, ""))}});
}

/// End pieces for custom calls that were cut off after their input text: the missing JSON adds nothing to it.
Json ChatChoice::ends_of_cut_inputs() const {
    Json ends = Json::array();
    for (std::size_t index = 0; index < begun_.size(); ++index) {
        const Begun& call = begun_[index];
        if (call.input && call.input->is_over() && !call.is_done)
            ends.push_back(input_piece(index, ""));
    }
    return ends;
}

Json ChatChoice::choice(Json delta) {
    return choice(std::move(delta), untold_.take());
}

/// The delta with the logprobs of its tokens.
Json ChatChoice::choice(Json delta, const std::vector<ToldToken>& tokens) const {
    Json whole = {{"index", index_}, {"delta", std::move(delta)}, {"finish_reason", nullptr}};
    if (form_.tells_logprobs)
        whole["logprobs"] = tokens.empty() ? Json(nullptr) : logprobs_json(tokens, form_.token_names);
    return whole;
}

void ChatMessage::add(const Json& piece) {
    index_ = piece["index"];
    if (!piece["finish_reason"].is_null())
        finish_reason_ = piece["finish_reason"];
    const Json& delta = piece["delta"];
    if (delta.contains("content"))
        content_ = content_.value_or("") + delta["content"].get<std::string>();
    if (delta.contains("reasoning_content"))
        reasoning_ += delta["reasoning_content"].get<std::string>();
    for (const Json& call : delta.value("tool_calls", Json::array()))
        add_call(call);
    const Json told = piece.value("logprobs", Json());
    if (!told.is_null() && logprobs_.is_null()) {
        logprobs_ = told;
    } else if (!told.is_null()) {
        for (const Json& token : told["content"])
            logprobs_["content"].push_back(token);
    }
}

void ChatMessage::add_call(const Json& call) {
    const char* const type = call.contains("custom") ? "custom" : "function";
    const char* const member = call.contains("custom") ? "input" : "arguments";
    const auto index = call["index"].get<std::size_t>();
    if (index == calls_.size()) {
        calls_.push_back({{"id", call["id"]}, {"type", type}, {type, call[type]}});
    } else {
        Json& text = calls_[index][type][member];
        const std::string more = call[type][member];
        text = text.get<std::string>() + more;
        if (more.empty() && call.contains("custom"))
            ended_inputs_.insert(index);
    }
}

bool ChatMessage::is_whole(std::size_t call) const {
    const Json& told = calls_[call];
    if (told["type"] == "custom")
        return ended_inputs_.contains(call);
    return !parse_json(told["function"]["arguments"].get<std::string>()).is_discarded();
}

/// Truncated calls are left out: they cannot be executed.
Json ChatMessage::whole_calls() const {
    Json calls = Json::array();
    for (std::size_t call = 0; call < calls_.size(); ++call) {
        if (is_whole(call))
            calls.push_back(calls_[call]);
    }
    return calls;
}

Json ChatMessage::result() const {
    Json message = {{"role", "assistant"}};
    Json calls = whole_calls();
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
