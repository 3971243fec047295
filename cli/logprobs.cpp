#include "cli/logprobs.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Json entry(const generate::TokenLogprob& one) {
    Json bytes = Json::array();
    for (const char byte : one.bytes)
        bytes.push_back(static_cast<uint8_t>(byte));
    return {{"token", one.bytes}, {"logprob", one.logprob}, {"bytes", std::move(bytes)}};
}

/// Replaces minus infinity, which JSON cannot represent. Source: vLLM.
constexpr double impossible = -9999;

void add_ranked(Json& place, const generate::TokenLogprob& one, std::size_t rank) {
    place[fmt::format("{}", one.token)] = {
        {"logprob", std::max(one.logprob, impossible)}, {"rank", rank}, {"decoded_token", one.bytes}};
}

/// Quotes text with JSON escapes.
std::string quoted(const std::string& bytes) {
    return dump_json(bytes);
}

/// Formats a token as `-0.0123 " there"`.
std::string described(const generate::TokenLogprob& one) {
    return fmt::format("{:8.4f} {}", one.logprob, quoted(one.bytes));
}

std::string likeliest(std::span<const generate::TokenLogprob> tokens) {
    std::string text;
    for (const generate::TokenLogprob& one : tokens)
        text += (text.empty() ? "  likeliest " : ", ") + described(one);
    return text;
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

Json prompt_logprobs_json(std::span<const generate::PromptTokenDelta> tokens) {
    Json places = Json::array();
    for (const generate::PromptTokenDelta& token : tokens) {
        Json& place = places.emplace_back(nullptr);
        if (!token.likelihood)
            continue;
        place = Json::object();
        for (std::size_t i = 0; i < token.likelihood->top.size(); ++i)
            add_ranked(place, token.likelihood->top[i], i + 1);
        add_ranked(place, token.likelihood->chosen, token.rank);
    }
    return places;
}

void report_prompt_logprobs(Diagnostics& diagnostics, std::span<const generate::PromptTokenDelta> tokens) {
    for (const generate::PromptTokenDelta& token : tokens) {
        if (!token.likelihood) {
            diagnostics.line(fmt::format("prompt  {:8} {}", "", quoted(token.bytes)));
            continue;
        }
        diagnostics.line(fmt::format("prompt  {}  rank {}{}", described(token.likelihood->chosen), token.rank,
                                     likeliest(token.likelihood->top)));
    }
}

void report_logprobs(Diagnostics& diagnostics, std::span<const generate::TokenDelta> tokens) {
    for (const generate::TokenDelta& token : tokens) {
        diagnostics.line(fmt::format("logprob {}{}", described(token.chosen), likeliest(token.top)));
    }
}

} // namespace etna::cli
