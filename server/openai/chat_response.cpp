#include "server/openai/chat_response.hpp"

#include "server/ids.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::openai {
namespace {

/// `token` gets U+FFFD where its bytes are no whole UTF-8; `bytes` has them as they are.
Json token_json(const generate::TokenLogprob& token) {
    Json bytes = Json::array();
    for (const char byte : token.bytes)
        bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", token.bytes}, {"logprob", token.logprob}, {"bytes", std::move(bytes)}};
}

Json function_call(std::size_t index, std::string id, const std::string& name) {
    Json function = {{"name", name}, {"arguments", ""}};
    return {{"index", index}, {"id", std::move(id)}, {"type", "function"}, {"function", std::move(function)}};
}

Json list_of(Json item) {
    Json list = Json::array();
    list.push_back(std::move(item));
    return list;
}

} // namespace

Json logprobs_json(const std::vector<generate::TokenDelta>& tokens) {
    Json content = Json::array();
    for (const generate::TokenDelta& token : tokens) {
        Json one = token_json(token.chosen);
        one["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& top : token.top)
            one["top_logprobs"].push_back(token_json(top));
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
    if (const auto* output = std::get_if<chat::output::Event>(&event))
        return take_output(*output);
    if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        untold_.push_back(*token);
        return std::nullopt;
    }
    if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        const std::string stop = told_stop(form_.told_stops, *finished);
        Json last = choice(stop.empty() ? Json::object() : Json({{"content", stop}}));
        last["finish_reason"] =
            finished->finish_reason == generate::FinishReason::cancelled && calls_done_ > 0
                ? "tool_calls" // it was ended after its only call
                : generate::to_string(finished->finish_reason);
        return last;
    }
    return std::nullopt;
}

std::optional<Json> ChatChoice::take_output(const chat::output::Event& event) {
    using Kind = chat::output::EventKind;
    const auto begun = std::find(begun_.begin(), begun_.end(), event.call);
    const auto index = static_cast<std::size_t>(begun - begun_.begin());
    switch (event.kind) {
    case Kind::reasoning:
        return choice({{"reasoning_content", event.text}});
    case Kind::call_begun:
        begun_.push_back(event.call);
        return choice(
            {{"tool_calls",
              list_of(function_call(index, event.id.empty() ? new_id("call_") : event.id, event.name))}});
    case Kind::call_arguments:
        return choice(
            {{"tool_calls", list_of({{"index", index}, {"function", {{"arguments", event.text}}}})}});
    case Kind::call_broken: // told as the text that it is, unless a part of it has been told as a call
        return begun == begun_.end() ? std::optional(choice({{"content", event.text}})) : std::nullopt;
    case Kind::call_done:
        ++calls_done_;
        return std::nullopt;
    case Kind::content_was_reasoning: // what has been sent stands
    case Kind::content:
        break;
    }
    return std::nullopt;
}

/// The delta with the tokens that it is made of.
Json ChatChoice::choice(Json delta) {
    Json whole = {{"index", index_}, {"delta", std::move(delta)}, {"finish_reason", nullptr}};
    if (form_.tells_logprobs) {
        whole["logprobs"] = untold_.empty() ? Json(nullptr) : logprobs_json(untold_);
        untold_.clear();
    }
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
    for (const Json& call : delta.value("tool_calls", Json::array())) {
        const auto index = call["index"].get<std::size_t>();
        if (index == calls_.size()) {
            calls_.push_back({{"id", call["id"]}, {"type", "function"}, {"function", call["function"]}});
        } else {
            Json& arguments = calls_[index]["function"]["arguments"];
            arguments = arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
        }
    }
    const Json told = piece.value("logprobs", Json());
    if (!told.is_null() && logprobs_.is_null()) {
        logprobs_ = told;
    } else if (!told.is_null()) {
        for (const Json& token : told["content"])
            logprobs_["content"].push_back(token);
    }
}

/// A call that was cut off is none: nobody could make it.
Json ChatMessage::whole_calls() const {
    Json calls = calls_;
    if (!calls.empty() && !Json::accept(calls.back()["function"]["arguments"].get<std::string>()))
        calls.erase(calls.size() - 1);
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
