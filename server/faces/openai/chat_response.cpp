#include "server/faces/openai/chat_response.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::openai {
namespace {

Json list_of(Json item) {
    Json list = Json::array();
    list.push_back(std::move(item));
    return list;
}

/// {"id", "type", TYPE: {"name", "arguments" or "input"}}.
Json call_json(const std::string& id, const std::string& name, bool is_custom, const std::string& text) {
    const char* const type = is_custom ? "custom" : "function";
    return {{"id", id}, {"type", type}, {type, {{"name", name}, {is_custom ? "input" : "arguments", text}}}};
}

std::string_view finish_reason(const generate::Finished& finished, std::size_t complete_calls) {
    const bool is_stopped = finished.finish_reason == generate::FinishReason::cancelled;
    return is_stopped && complete_calls > 0 ? "tool_calls" // stopped after its only call
                                            : generate::to_string(finished.finish_reason);
}

/// A delta of a custom tool's input; an empty one ends it.
Json input_piece(std::size_t call, const std::string& text) {
    return {{"index", call}, {"custom", {{"input", text}}}};
}

} // namespace

Json logprobs_json(const std::vector<generate::EmittedToken>& tokens, TokenNames names) {
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
    last["finish_reason"] = finish_reason(finished, calls_done_);
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
    Json call = {{"index", calls_.size()}};
    call.update(call_json(event.id, event.name, is_custom, ""));
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
    const std::vector<generate::EmittedToken> tokens = pending_.take_final();
    Json piece = {{"index", index_}, {"delta", std::move(delta)}, {"finish_reason", nullptr}};
    if (options_.includes_logprobs)
        piece["logprobs"] = tokens.empty() ? Json(nullptr) : logprobs_json(tokens, options_.token_names);
    return piece;
}

namespace {

/// Broken calls are left out, because their text is content. A call that was cut off ends the answer, with
/// arguments that are not JSON. The input of a custom call has no such mark: it is complete once its text is.
Json calls_json(const ChatOptions& options, const generate::CollectedAnswer& answer, bool has_cut_call) {
    using Kind = generate::PartKind;
    Json calls = Json::array();
    for (const generate::AnswerPart& part : answer.parts()) {
        if (part.kind == Kind::text || part.kind == Kind::reasoning)
            continue;
        const bool is_custom = options.custom_tools.contains(part.name);
        CustomInput input;
        const std::string text = is_custom ? input.push(part.text) : part.text;
        if (part.kind == Kind::complete_call || (part.kind == Kind::open_call && has_cut_call) ||
            input.is_over())
            calls.push_back(call_json(part.id, part.name, is_custom, text));
    }
    return calls;
}

} // namespace

Json chat_choice_json(uint32_t index, const ChatOptions& options, const generate::CollectedAnswer& answer) {
    const std::string_view reason = finish_reason(*answer.finished(), answer.complete_calls());
    Json calls = calls_json(options, answer, reason != "tool_calls");
    const std::string text = answer.text();
    const std::string reasoning = answer.reasoning();
    Json message = {{"role", "assistant"}};
    message["content"] = !text.empty() || calls.empty() ? Json(text) : Json(nullptr);
    message["refusal"] = nullptr;
    if (!reasoning.empty())
        message["reasoning_content"] = reasoning;
    if (!calls.empty())
        message["tool_calls"] = std::move(calls);
    const auto& tokens = answer.logprobs();
    return {{"index", index},
            {"message", std::move(message)},
            {"logprobs", tokens.empty() ? Json(nullptr) : logprobs_json(tokens, options.token_names)},
            {"finish_reason", reason}};
}

} // namespace etna::server::openai
