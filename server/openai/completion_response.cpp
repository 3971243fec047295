#include "server/openai/completion_response.hpp"

#include "core/base/utf8.hpp"
#include "server/fields.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// A token as text; incomplete UTF-8 in the format of OpenAI's older models: "bytes:\xe2\x82".
std::string token_text(const std::string& bytes) {
    if (valid_utf8_prefix(bytes) == bytes.size())
        return bytes;
    std::string text = "bytes:";
    for (const char byte : bytes)
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return text;
}

/// The token's name: its text or its id.
std::string name_of(TokenId token, const std::string& bytes, TokenNames names) {
    return names == TokenNames::ids ? name_by_id(token) : token_text(bytes);
}

/// The `count` most likely tokens by name, and the sampled one.
Json top_of(const generate::TokenDelta& token, std::size_t count, TokenNames names) {
    Json top = Json::object();
    for (const generate::TokenLogprob& one : std::span(token.top).first(std::min(count, token.top.size())))
        top[name_of(one.token, one.bytes, names)] = one.logprob;
    top[name_of(token.chosen.token, token.chosen.bytes, names)] = token.chosen.logprob;
    return top;
}

/// Counts the characters that start in the token, as for answer tokens. The text may lack what the tokenizer
/// prepends: the begin token, and SentencePiece's space.
std::size_t characters_of(const generate::PromptTokenDelta& token) {
    const std::size_t all = characters_in(token.bytes);
    const bool is_whole = valid_utf8_prefix(token.bytes) == token.bytes.size();
    return is_whole ? std::min(all, characters_in(token.text)) : all;
}

/// The logprobs of an answer without tokens.
Json no_logprobs(uint32_t top) {
    Json none = {
        {"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"text_offset", Json::array()}};
    if (top > 0)
        none["top_logprobs"] = Json::array();
    return none;
}

} // namespace

std::optional<Json> CompletionChoice::begin() {
    return form_.logprobs ? std::nullopt : prompt_piece();
}

std::optional<Json> CompletionChoice::take(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event)) {
        if (form_.echoes && form_.logprobs) {
            add(name_of(token->token, token->bytes, form_.token_names),
                token->likelihood ? &*token->likelihood : nullptr, characters_of(*token));
        }
    } else if (const auto* generated = std::get_if<generate::TokenDelta>(&event)) {
        return take_token(*generated);
    } else if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        if (form_.tells_text)
            return piece(text->text);
    } else if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        return end(*finished);
    }
    return std::nullopt;
}

/// The first token implies that the prompt is complete.
std::optional<Json> CompletionChoice::take_token(const generate::TokenDelta& token) {
    std::optional<Json> before = prompt_piece();
    if (form_.logprobs)
        untold_.add(token);
    if (form_.tells_text)
        return before;
    untold_ids_.push_back(token.chosen.token);
    return piece("");
}

Json CompletionChoice::end(const generate::Finished& finished) {
    std::optional<Json> before = prompt_piece(); // still pending if there was no token
    const std::string stop = form_.tells_text ? told_stop(form_.told_stops, finished) : std::string();
    add(untold_.take_last(finished, stop));
    Json last = before ? std::move(*before) : piece("");
    last["text"] = last["text"].get<std::string>() + stop;
    if (form_.logprobs && !has_logprobs_)
        last["logprobs"] = no_logprobs(*form_.logprobs);
    last["finish_reason"] = generate::to_string(finished.finish_reason);
    return last;
}

/// Returns the echoed prompt once, if requested.
std::optional<Json> CompletionChoice::prompt_piece() {
    if (!form_.echoes || !form_.tells_text || has_told_prompt_)
        return std::nullopt;
    has_told_prompt_ = true;
    characters_ = characters_in(prompt_);
    return piece(prompt_);
}

/// Builds a piece with the logprobs of its tokens.
Json CompletionChoice::piece(std::string_view text) {
    add(untold_.take());
    Json told = {
        {"text", text}, {"index", index_}, {"logprobs", std::move(logprobs_)}, {"finish_reason", nullptr}};
    logprobs_ = nullptr;
    if (!form_.tells_text)
        told["token_ids"] = std::exchange(untold_ids_, {});
    return told;
}

void CompletionChoice::add(const std::vector<ToldToken>& tokens) {
    for (const auto& [token, characters] : tokens)
        add(name_of(token.chosen.token, token.chosen.bytes, form_.token_names), &token, characters);
}

/// `likelihood` is null for the first token of a prompt, which has no context. Offsets count characters from
/// the start of the text.
void CompletionChoice::add(const std::string& name, const generate::TokenDelta* likelihood,
                           std::size_t characters) {
    const bool is_known = likelihood != nullptr;
    has_logprobs_ = true;
    logprobs_["tokens"].push_back(name);
    logprobs_["token_logprobs"].push_back(is_known ? Json(likelihood->chosen.logprob) : Json(nullptr));
    logprobs_["text_offset"].push_back(characters_);
    if (*form_.logprobs > 0) { // the published schema does not allow null here
        logprobs_["top_logprobs"].push_back(is_known ? top_of(*likelihood, *form_.logprobs, form_.token_names)
                                                     : Json(nullptr));
    }
    characters_ += characters;
}

void WholeCompletion::add(const Json& piece) {
    if (whole_.is_null()) {
        whole_ = piece;
        return;
    }
    whole_["text"] = whole_["text"].get<std::string>() + piece["text"].get<std::string>();
    whole_["finish_reason"] = piece["finish_reason"];
    for (const Json& token : piece.value("token_ids", Json::array()))
        whole_["token_ids"].push_back(token);
    if (whole_["logprobs"].is_null()) {
        whole_["logprobs"] = piece["logprobs"];
    } else if (!piece["logprobs"].is_null()) {
        for (const auto& [name, list] : piece["logprobs"].items()) {
            for (const Json& one : list.is_array() ? list : Json::array())
                whole_["logprobs"][name].push_back(one);
        }
    }
}

} // namespace etna::server::openai
