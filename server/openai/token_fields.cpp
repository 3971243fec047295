#include "server/openai/generation_fields.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr float ban = -std::numeric_limits<float>::infinity();

/// {"token id": bias}.
void read_logit_bias(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    const Json* map = fields.object("logit_bias");
    if (map == nullptr)
        return;
    constexpr double bias_max = 100;
    for (const auto& [name, bias] : map->items()) {
        const bool is_number =
            !name.empty() && name.size() <= 10 &&
            std::all_of(name.begin(), name.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
        const uint64_t token = is_number ? std::stoull(name) : vocabulary;
        if (token >= vocabulary)
            return fields.refuse(
                "logit_bias", fmt::format("names `{}`; its names are token ids below {}", name, vocabulary));
        if (!bias.is_number() || !(bias.get<double>() >= -bias_max && bias.get<double>() <= bias_max))
            return fields.refuse("logit_bias", fmt::format("must map token ids to numbers from {} to {}",
                                                           -bias_max, bias_max));
        // -100 is a ban in the OpenAI API.
        const float value = bias.get<float>();
        request.logit_bias.push_back({static_cast<TokenId>(token), value <= -bias_max ? ban : value});
    }
}

/// Reads a list of token ids; empty if absent or invalid.
std::vector<TokenId> read_token_list(Fields& fields, std::string_view name, uint32_t vocabulary) {
    const Json* const list = fields.list(name);
    std::vector<TokenId> tokens;
    for (const Json& token : list == nullptr ? Json::array() : *list) {
        if (!token.is_number_unsigned() || token.get<uint64_t>() >= vocabulary) {
            fields.refuse(name, fmt::format("must be a list of token ids below {}", vocabulary));
            return {};
        }
        tokens.push_back(token.get<TokenId>());
    }
    return tokens;
}

/// vLLM's field: bans all other tokens, including the end token unless listed. Runs after `logit_bias`, so
/// that a ban overrides a bias.
void read_allowed_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    constexpr std::string_view name = "allowed_token_ids";
    const std::vector<TokenId> allowed = read_token_list(fields, name, vocabulary);
    if (fields.any(name) == nullptr)
        return;
    if (allowed.empty())
        return fields.refuse(name, "is empty: no token would be left; name one at least");
    std::vector<bool> is_allowed(vocabulary);
    for (const TokenId token : allowed)
        is_allowed[token] = true;
    for (TokenId token = 0; token < vocabulary; ++token) {
        if (!is_allowed[token])
            request.logit_bias.push_back({token, ban});
    }
}

} // namespace

void read_tokens(Fields& fields, uint32_t vocabulary, generate::Request& request) {
    read_logit_bias(fields, vocabulary, request);
    read_allowed_tokens(fields, vocabulary, request);
    request.stop_tokens = read_token_list(fields, "stop_token_ids", vocabulary);
    for (const std::string_view name : {"bad_words", "logprob_token_ids"}) { // vLLM's
        const Json* const list = fields.list(name);
        if (list != nullptr && !list->empty())
            fields.refuse(name, "is not supported", "unsupported_parameter");
    }
}

} // namespace etna::server::openai
