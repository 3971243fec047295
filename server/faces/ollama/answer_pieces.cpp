#include "server/faces/ollama/answer_pieces.hpp"

#include "server/base/ids.hpp"

#include <utility>
#include <vector>

namespace etna::server::ollama {
namespace {

/// The API has no separate reason for calls, and a cancelled answer has no reader.
std::string_view done_reason(generate::FinishReason reason) {
    return reason == generate::FinishReason::length ? "length" : "stop";
}

/// Returns logprobs in the API's form, without empty lists of alternatives.
Json logprobs_json(const std::vector<api::EmittedToken>& tokens) {
    Json list = api::logprobs_list(tokens);
    for (Json& token : list) {
        if (token["top_logprobs"].empty())
            token.erase("top_logprobs");
    }
    return list;
}

} // namespace

Json AnswerPieces::take(const generate::Event& event) {
    if (const auto* text = std::get_if<generate::TextDelta>(&event))
        return add({.content = text->text});
    if (const auto* parsed = std::get_if<output::Event>(&event))
        return take_output(*parsed);
    if (const auto* finished = std::get_if<generate::Finished>(&event))
        return finish(*finished);
    if (const auto* token = std::get_if<generate::TokenDelta>(&event); token != nullptr && pending_)
        pending_->add(*token);
    if (const auto* tokens = std::get_if<generate::FinalTokens>(&event); tokens != nullptr && pending_)
        pending_->add(*tokens);
    return nullptr;
}

Json AnswerPieces::take_output(const output::Event& event) {
    using Kind = output::EventKind;
    switch (event.kind) {
    case Kind::content:
        return add({.content = event.text});
    case Kind::reasoning:
        return add({.thinking = event.text});
    case Kind::content_was_reasoning: // text that was sent cannot be retracted
        return nullptr;
    case Kind::call_started:
        calls_[event.call] = {.id = event.id, .name = event.name};
        return nullptr;
    case Kind::call_arguments:
        calls_[event.call].arguments += event.text;
        return nullptr;
    case Kind::call_done:
        return end_call(event);
    case Kind::call_broken: // no part of the call was sent; the model's own text is
        calls_.erase(event.call);
        return add({.content = event.text});
    }
    return nullptr;
}

/// Calls are sent complete, because their arguments are a JSON object.
Json AnswerPieces::end_call(const output::Event& event) {
    StartedCall call = std::move(calls_[event.call]);
    calls_.erase(event.call);
    if (call.id.empty())
        call.id = event.id.empty() ? new_id("call_") : event.id;
    Piece piece;
    piece.calls.push_back(
        {{"id", call.id},
         {"function",
          {{"index", whole_.calls.size()}, {"name", call.name}, {"arguments", parse_json(call.arguments)}}}});
    return add(std::move(piece));
}

Json AnswerPieces::finish(const generate::Finished& finished) {
    finished_ = finished;
    done_reason_ = done_reason(finished.finish_reason);
    Json members = add({});
    members["done_reason"] = done_reason_;
    return members;
}

/// Adds the logprobs that became final with the piece.
Json AnswerPieces::add(Piece piece) {
    if (pending_)
        piece.logprobs = logprobs_json(pending_->take_final());
    whole_.content += piece.content;
    whole_.thinking += piece.thinking;
    for (const Json& call : piece.calls)
        whole_.calls.push_back(call);
    for (const Json& token : piece.logprobs)
        whole_.logprobs.push_back(token);
    return members_of(piece);
}

Json AnswerPieces::members_of(const Piece& piece) const {
    Json members = Json::object();
    if (form_ == Form::chat) {
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
        members["logprobs"] = piece.logprobs;
    return members;
}

Json AnswerPieces::whole() const {
    Json members = members_of(whole_);
    if (finished_)
        members["done_reason"] = done_reason_;
    return members;
}

} // namespace etna::server::ollama
