#include "cli/logprobs.hpp"

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace etna::cli {
namespace {

using Json = nlohmann::ordered_json;

Json entry(const generate::TokenLogprob& one) {
    Json bytes = Json::array();
    for (const char byte : one.bytes)
        bytes.push_back(static_cast<uint8_t>(byte));
    return {{"token", one.bytes}, {"logprob", one.logprob}, {"bytes", std::move(bytes)}};
}

/// `-0.0123 " there"`, with escapes as in JSON.
std::string described(const generate::TokenLogprob& one) {
    return fmt::format("{:8.4f} {}", one.logprob,
                       Json(one.bytes).dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace

Json logprobs_json(std::span<const generate::TokenDelta> tokens) {
    Json content = Json::array();
    for (const generate::TokenDelta& token : tokens) {
        Json one = entry(token.chosen);
        Json& top = one["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& other : token.top)
            top.push_back(entry(other));
        content.push_back(std::move(one));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
}

void report_logprobs(Diagnostics& diagnostics, std::span<const generate::TokenDelta> tokens) {
    for (const generate::TokenDelta& token : tokens) {
        std::string line = fmt::format("logprob {}", described(token.chosen));
        const char* separator = "  likeliest ";
        for (const generate::TokenLogprob& other : token.top) {
            line += separator + described(other);
            separator = ", ";
        }
        diagnostics.line(line);
    }
}

} // namespace etna::cli
