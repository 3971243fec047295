#include "server/api/logprobs.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

/// Incomplete UTF-8 becomes U+FFFD in `token`; `bytes` has the raw bytes.
Json token_json(const generate::TokenLogprob& token, TokenNames names) {
    Json bytes = Json::array();
    for (const char byte : token.bytes)
        bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", names == TokenNames::ids ? token_id_name(token.token) : token.bytes},
            {"logprob", token.logprob},
            {"bytes", std::move(bytes)}};
}

} // namespace

std::string token_id_name(TokenId token) {
    return fmt::format("token_id:{}", token);
}

Json logprobs_list(const std::vector<generate::EmittedToken>& tokens, TokenNames names) {
    Json content = Json::array();
    for (const auto& [token, characters] : tokens) {
        Json entry = token_json(token.chosen, names);
        entry["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& top : token.top)
            entry["top_logprobs"].push_back(token_json(top, names));
        content.push_back(std::move(entry));
    }
    return content;
}

} // namespace etna::server::api
