#include "server/faces/ollama/answer_pieces.hpp"

#include "server/api/logprobs.hpp"
#include "server/base/ids.hpp"

#include <utility>
#include <vector>

namespace etna::server::ollama {
namespace {

/// Text and calls of a line, or of the answer.
struct Piece {
    std::string content = {};
    std::string thinking = {};
    Json calls = Json::array();
    std::vector<generate::EmittedToken> logprobs = {};
};

/// The API has no separate reason for calls, and a cancelled answer has no reader.
std::string_view done_reason(generate::FinishReason reason) {
    return reason == generate::FinishReason::length ? "length" : "stop";
}

/// Returns logprobs in the API's form, without empty lists of alternatives.
Json logprobs_json(const std::vector<generate::EmittedToken>& tokens) {
    Json list = api::logprobs_list(tokens);
    for (Json& token : list) {
        if (token["top_logprobs"].empty())
            token.erase("top_logprobs");
    }
    return list;
}

/// `call` is complete: its arguments are an object.
Json call_json(const generate::AnswerPart& call, std::size_t index) {
    return {{"id", call.id.empty() ? new_id("call_") : call.id},
            {"function", {{"index", index}, {"name", call.name}, {"arguments", parse_json(call.text)}}}};
}

Json members_of(Form form, const Piece& piece) {
    Json members = Json::object();
    if (form == Form::chat) {
        Json& message = members["message"] = {{"role", "assistant"}, {"content", piece.content}};
        if (!piece.thinking.empty())
            message["thinking"] = piece.thinking;
        if (!piece.calls.empty())
            message["tool_calls"] = piece.calls;
    } else {
        members["response"] = piece.content;
        if (!piece.thinking.empty())
            members["thinking"] = piece.thinking;
    }
    if (!piece.logprobs.empty())
        members["logprobs"] = logprobs_json(piece.logprobs);
    return members;
}

} // namespace

Json answer_members(Form form, const generate::CollectedAnswer& answer) {
    Piece whole = {.content = answer.text(), .thinking = answer.reasoning(), .logprobs = answer.logprobs()};
    for (const generate::AnswerPart& part : answer.parts()) {
        if (part.kind == generate::PartKind::complete_call)
            whole.calls.push_back(call_json(part, whole.calls.size()));
    }
    Json members = members_of(form, whole);
    members["done_reason"] = done_reason(answer.finished()->finish_reason);
    return members;
}

Json AnswerPieces::take(const generate::Event& event, const generate::CollectedAnswer& answer) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event))
        return members(text->text);
    if (const auto* parsed = std::get_if<output::Event>(&event))
        return take_output(*parsed, answer);
    if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        Json last = members({});
        last["done_reason"] = done_reason(finished->finish_reason);
        return last;
    }
    if (const auto* token = std::get_if<generate::TokenDelta>(&event); token != nullptr && pending_)
        pending_->add(*token);
    if (const auto* tokens = std::get_if<generate::FinalTokens>(&event); tokens != nullptr && pending_)
        pending_->add(*tokens);
    return nullptr;
}

Json AnswerPieces::take_output(const output::Event& event, const generate::CollectedAnswer& answer) {
    using Kind = output::EventKind;
    switch (event.kind) {
    case Kind::content:
    case Kind::call_broken: // no part of the call was sent; the model's own text is
        return members(event.text);
    case Kind::reasoning:
        return members({}, event.text);
    case Kind::content_was_reasoning: // text that was sent cannot be retracted
    case Kind::call_started:
    case Kind::call_arguments: // calls are sent complete
        return nullptr;
    case Kind::call_done: {
        Json calls = Json::array();
        calls.push_back(call_json(answer.parts().back(), answer.complete_calls() - 1));
        return members({}, {}, std::move(calls));
    }
    }
    return nullptr;
}

/// Adds the logprobs that became final with the piece.
Json AnswerPieces::members(std::string content, std::string thinking, Json calls) {
    Piece piece = {.content = std::move(content), .thinking = std::move(thinking), .calls = std::move(calls)};
    if (pending_)
        piece.logprobs = pending_->take_final();
    return members_of(form_, piece);
}

} // namespace etna::server::ollama
