#include "core/text/pre_tokenizer.hpp"

#include "core/gguf/cursor.hpp"
#include "core/text/utf8.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace etna::text {
namespace {

using Strings = std::span<const std::string_view>;

// The expressions are those of the models' own tokenizer.json files (Hugging Face tokenizers, Split with
// behaviour "isolated"); names and flags are those that GGUF files carry.

constexpr std::string_view gpt2_words = // OpenAI GPT-2, encoder.py
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view three_digit_words = // Llama 3
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view one_digit_words = // Qwen 2
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view cased_words = // GPT-4o
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array default_names = std::to_array<std::string_view>({"default"});
constexpr std::array default_expressions =
    std::to_array<std::string_view>({R"([\p{P}$+<=>^~|]+)", gpt2_words, R"(\p{N}+)", "[0-9][0-9][0-9]"});

constexpr std::array gpt2_names = std::to_array<std::string_view>(
    {"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "exaone4", "gigachat", "a.x-4.0",
     "mellum", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de"});
constexpr std::array gpt2_expressions = std::to_array<std::string_view>({gpt2_words});

constexpr std::array llama3_names =
    std::to_array<std::string_view>({"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
                                     "midm-2.0", "lfm2", "jina-v5-nano"});
constexpr std::array dbrx_names = std::to_array<std::string_view>({"dbrx", "smaug-bpe"});
constexpr std::array three_digit_expressions = std::to_array<std::string_view>({three_digit_words});

constexpr std::array qwen2_names = std::to_array<std::string_view>(
    {"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "solar-open", "megrez", "kormo", "f2llmv2"});
constexpr std::array qwen2_expressions = std::to_array<std::string_view>({one_digit_words});

constexpr std::array digit_names = std::to_array<std::string_view>(
    {"starcoder", "smollm", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"});
constexpr std::array digit_expressions = std::to_array<std::string_view>({R"(\p{N})", gpt2_words});

constexpr std::array falcon_names = std::to_array<std::string_view>({"falcon"});
constexpr std::array falcon_expressions =
    std::to_array<std::string_view>({R"([\p{P}$+<=>^~|`]+)", gpt2_words, "[0-9][0-9][0-9]"});

constexpr std::array deepseek_coder_names = std::to_array<std::string_view>({"deepseek-coder"});
constexpr std::array deepseek_coder_expressions = std::to_array<std::string_view>(
    {"[\\r\\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)",
     R"(\p{N})"});

constexpr std::array gpt4o_names = std::to_array<std::string_view>({"gpt-4o", "llama4", "kanana2", "talkie"});
constexpr std::array gpt4o_expressions = std::to_array<std::string_view>({cased_words});

constexpr std::array rows = std::to_array<PreTokenizerRow>({
    {.names = default_names, .expressions = default_expressions},
    {.names = gpt2_names, .expressions = gpt2_expressions},
    {.names = llama3_names,
     .expressions = three_digit_expressions,
     .ignore_merges = IgnoreMerges::yes,
     .adds_bos = AddsBos::yes},
    {.names = dbrx_names, .expressions = three_digit_expressions},
    {.names = qwen2_names, .expressions = qwen2_expressions},
    {.names = digit_names, .expressions = digit_expressions},
    {.names = falcon_names, .expressions = falcon_expressions},
    {.names = deepseek_coder_names, .expressions = deepseek_coder_expressions},
    {.names = gpt4o_names, .expressions = gpt4o_expressions},
});

const PreTokenizerRow* find_row(std::string_view name) {
    for (const PreTokenizerRow& row : rows) {
        if (std::find(row.names.begin(), row.names.end(), name) != row.names.end())
            return &row;
    }
    return nullptr;
}

std::string known_names() {
    std::string list;
    for (const PreTokenizerRow& row : rows) {
        for (const std::string_view name : row.names)
            list += fmt::format("{}{}", list.empty() ? "" : ", ", name);
    }
    return list;
}

/// Cuts `text` at both ends of every match; empty pieces are left out.
Status cut(std::string_view text, Regex::Search& search, std::vector<std::string_view>& pieces) {
    const auto add = [&](std::size_t begin, std::size_t end) {
        if (begin < end)
            pieces.push_back(text.substr(begin, end - begin));
    };
    std::size_t done = 0;
    while (done < text.size()) {
        ETNA_TRY(const std::optional<RegexMatch> match, search.next(text, done));
        if (!match || match->begin == match->end)
            break; // an expression that matches nothing would not get on
        add(done, match->begin);
        add(match->begin, match->end);
        done = match->end;
    }
    add(done, text.size());
    return {};
}

/// Runs of valid UTF-8, which the expressions are for, and what lies between.
struct Run {
    std::string_view text;
    Utf8Kind kind = Utf8Kind::valid;
};

Run next_run(std::string_view text) {
    if (const std::size_t valid = valid_utf8_prefix(text); valid > 0)
        return {text.substr(0, valid), Utf8Kind::valid};
    return {text.substr(0, next_utf8(text).bytes), Utf8Kind::invalid};
}

} // namespace

std::span<const PreTokenizerRow> pre_tokenizer_rows() {
    return rows;
}

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
    const PreTokenizerRow* row = find_row(name);
    if (row == nullptr)
        return Error{ErrorKind::unsupported, fmt::format("unknown pre-tokenizer {}", gguf::backquoted(name)),
                     fmt::format("known ones are {}", known_names())};
    std::vector<Regex> expressions;
    for (const std::string_view expression : row->expressions) {
        ETNA_TRY(Regex compiled, Regex::compile(expression));
        expressions.push_back(std::move(compiled));
    }
    return PreTokenizer(*row, std::move(expressions));
}

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text) const {
    std::vector<std::string_view> pieces;
    std::vector<std::string_view> invalid; // in order; they are `pieces` that no expression is applied to
    while (!text.empty()) {
        const Run run = next_run(text);
        pieces.push_back(run.text);
        if (run.kind != Utf8Kind::valid)
            invalid.push_back(run.text);
        text.remove_prefix(run.text.size());
    }
    for (const Regex& expression : expressions_) {
        Regex::Search search(expression);
        std::vector<std::string_view> smaller;
        auto skipped = invalid.begin();
        for (const std::string_view piece : pieces) {
            if (skipped != invalid.end() && skipped->data() == piece.data()) {
                smaller.push_back(piece);
                ++skipped;
                continue;
            }
            ETNA_CHECK(cut(piece, search, smaller));
        }
        pieces = std::move(smaller);
    }
    return pieces;
}

} // namespace etna::text
