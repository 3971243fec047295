#include "server/openai/completion_response.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// A token as text; one that is no whole UTF-8 as OpenAI's older models had it: "bytes:\xe2\x82".
std::string token_text(const std::string& bytes) {
    if (valid_utf8_prefix(bytes) == bytes.size())
        return bytes;
    std::string text = "bytes:";
    for (const char byte : bytes)
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return text;
}

/// Characters that begin in these bytes.
std::size_t characters_in(std::string_view bytes) {
    return static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
}

/// The likeliest tokens by their text, and the one that was chosen.
Json top_of(const generate::TokenDelta& token) {
    Json top = Json::object();
    for (const generate::TokenLogprob& one : token.top)
        top[token_text(one.bytes)] = one.logprob;
    top[token_text(token.chosen.bytes)] = token.chosen.logprob;
    return top;
}

} // namespace

std::optional<Json> CompletionChoice::begin() {
    if (prompt_.empty() || !form_.tells_text)
        return std::nullopt;
    characters_ = characters_in(prompt_);
    return piece(prompt_);
}

std::optional<Json> CompletionChoice::take(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        untold_.push_back(*token);
        return std::nullopt;
    }
    if (const auto* text = std::get_if<generate::TextDelta>(&event))
        return form_.tells_text ? std::optional(piece(text->text)) : std::nullopt;
    const auto* finished = std::get_if<generate::Finished>(&event);
    if (finished == nullptr)
        return std::nullopt;
    Json last = piece("");
    last["finish_reason"] = generate::to_string(finished->finish_reason);
    if (!form_.tells_text)
        last["token_ids"] = finished->tokens;
    return last;
}

Json CompletionChoice::piece(std::string_view text) {
    return {{"text", text}, {"index", index_}, {"logprobs", logprobs()}, {"finish_reason", nullptr}};
}

/// Of the tokens that have come since the last piece. Offsets count characters from the text's beginning.
Json CompletionChoice::logprobs() {
    if (!form_.logprobs || untold_.empty())
        return nullptr;
    Json tokens = Json::array();
    Json values = Json::array();
    Json tops = Json::array();
    Json offsets = Json::array();
    for (const generate::TokenDelta& token : untold_) {
        tokens.push_back(token_text(token.chosen.bytes));
        values.push_back(token.chosen.logprob);
        tops.push_back(top_of(token));
        offsets.push_back(characters_);
        characters_ += characters_in(token.chosen.bytes);
    }
    untold_.clear();
    Json told = {{"tokens", std::move(tokens)},
                 {"token_logprobs", std::move(values)},
                 {"text_offset", std::move(offsets)}};
    if (*form_.logprobs > 0) // the published schema has no null for it
        told["top_logprobs"] = std::move(tops);
    return told;
}

void WholeCompletion::add(const Json& piece) {
    if (whole_.is_null()) {
        whole_ = piece;
        return;
    }
    whole_["text"] = whole_["text"].get<std::string>() + piece["text"].get<std::string>();
    whole_["finish_reason"] = piece["finish_reason"];
    if (piece.contains("token_ids"))
        whole_["token_ids"] = piece["token_ids"];
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
