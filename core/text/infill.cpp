#include "core/text/infill.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace etna::text {
namespace {

using Names = std::array<std::string_view, 3>; // prefix, suffix, middle

constexpr std::array keys = {Names{"fim_pre", "fim_suf", "fim_mid"}, Names{"prefix", "suffix", "middle"}};

constexpr std::array families = {
    Names{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},          // Qwen 2.5 Coder
    Names{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},                // StarCoder
    Names{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},                // SantaCoder
    Names{"<PRE>", "<SUF>", "<MID>"},                                     // CodeGemma and others
    Names{"\xE2\x96\x81<PRE>", "\xE2\x96\x81<SUF>", "\xE2\x96\x81<MID>"}, // CodeLlama
    Names{"<\xEF\xBD\x9C"
          "fim\xE2\x96\x81"
          "begin\xEF\xBD\x9C>",
          "<\xEF\xBD\x9C"
          "fim\xE2\x96\x81"
          "hole\xEF\xBD\x9C>",
          "<\xEF\xBD\x9C"
          "fim\xE2\x96\x81"
          "end\xEF\xBD\x9C>"}, // DeepSeek Coder
};

/// Names of the tokens before a project's and a file's name.
constexpr std::array<std::string_view, 3> repository_names = {"<|repo_name|>", "<repo_name>", "<reponame>"};
constexpr std::array<std::string_view, 2> separator_names = {"<|file_sep|>", "<file_sep>"};

template <class Find>
std::optional<InfillTokens> find_all(const Names& names, const Find& find) {
    const std::optional<TokenId> prefix = find(names[0]);
    const std::optional<TokenId> suffix = find(names[1]);
    const std::optional<TokenId> middle = find(names[2]);
    if (!prefix || !suffix || !middle)
        return std::nullopt;
    return InfillTokens{.prefix = *prefix, .suffix = *suffix, .middle = *middle};
}

} // namespace

std::optional<InfillTokens> find_infill_tokens(const gguf::File& file, const Tokenizer& tokenizer) {
    const auto listed = [&](std::string_view key) -> std::optional<TokenId> {
        const auto id = file.unsigned_integer(fmt::format("tokenizer.ggml.{}_token_id", key));
        return id && *id < tokenizer.size() ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
    };
    const auto named = [&](std::string_view name) { return tokenizer.find(name); };
    std::optional<InfillTokens> found;
    for (const Names& names : keys)
        found = found ? found : find_all(names, listed);
    for (const Names& names : families)
        found = found ? found : find_all(names, named);
    if (!found)
        return found;
    found->repository = listed("fim_rep");
    for (const std::string_view name : repository_names)
        found->repository = found->repository ? found->repository : named(name);
    found->file_separator = listed("fim_sep");
    for (const std::string_view name : separator_names)
        found->file_separator = found->file_separator ? found->file_separator : named(name);
    return found;
}

} // namespace etna::text
