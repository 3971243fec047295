#include "core/text/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace etna::text {
namespace {

constexpr std::size_t largest_vocabulary = 1U << 22; // the largest known has 262 thousand tokens

// Names of tokens that end a turn in some model family, for files that do not list them as eot or eom.
constexpr std::array end_names = std::to_array<std::string_view>({
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>", // Llama 3, Granite
    "<|im_end|>",
    "<|endoftext|>", // ChatML, GPT-2
    "<|end|>",       // Phi 3
    "<|return|>",
    "<|call|>", // gpt-oss
    "<end_of_turn>",
    "<eos>", // Gemma
    "<EOT>",
    "[EOT]",
    "[EOS]",              // CodeLlama, Kimi
    "<end_of_utterance>", // SmolVLM
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>", // DeepSeek
    "</s>",
});

Error corrupt(const gguf::File& file, std::string message) {
    return {ErrorKind::corrupt, fmt::format("{}: {}", file.name(), message),
            "the file is damaged; fetch it again"};
}

/// Returns the items of a metadata array; null if the key is absent or of another type.
template <class Item>
const std::vector<Item>* find_items(const gguf::File& file, std::string_view key) {
    const gguf::Value* value = file.find(key);
    const auto* array = value == nullptr ? nullptr : std::get_if<gguf::Array>(value);
    return array == nullptr ? nullptr : std::get_if<std::vector<Item>>(&array->items);
}

Status read_names(const gguf::File& file, Vocabulary& vocabulary) {
    ETNA_TRY(const auto names, read_strings(file, "tokenizer.ggml.tokens"));
    if (names.empty() || names.size() > largest_vocabulary)
        return corrupt(file, fmt::format("a vocabulary of {} tokens", names.size()));
    for (const std::string_view name : names) {
        vocabulary.names.append(name);
        vocabulary.longest_name_bytes = std::max(vocabulary.longest_name_bytes, name.size());
    }
    vocabulary.by_name.reserve(names.size());
    for (TokenId token = 0; token < names.size(); ++token) {
        if (const std::string_view name = vocabulary.names[token]; !name.empty())
            vocabulary.by_name.try_emplace(name, token);
    }
    return {};
}

Status read_types(const gguf::File& file, Vocabulary& vocabulary) {
    constexpr std::string_view key = "tokenizer.ggml.token_type";
    vocabulary.types.assign(vocabulary.names.size(), TokenType::normal);
    if (file.find(key) == nullptr)
        return {};
    const auto take = [&](const auto& numbers) -> Status {
        if (numbers.size() < vocabulary.types.size()) {
            return corrupt(file, fmt::format("{} has {} items for {} tokens", key, numbers.size(),
                                             vocabulary.types.size()));
        }
        for (std::size_t i = 0; i < vocabulary.types.size(); ++i) {
            const int64_t number = numbers[i];
            if (number < 0 || number > static_cast<int64_t>(TokenType::byte))
                return corrupt(file, fmt::format("token {} has the unknown type {}", i, number));
            if (number != 0) // "undefined" in the specification: the default applies
                vocabulary.types[i] = static_cast<TokenType>(number);
        }
        return {};
    };
    if (const auto* numbers = find_items<int32_t>(file, key))
        return take(*numbers);
    if (const auto* numbers = find_items<uint32_t>(file, key))
        return take(*numbers);
    return corrupt(file, fmt::format("{} is not a list of 32-bit integers", key));
}

Status read_scores(const gguf::File& file, Vocabulary& vocabulary) {
    constexpr std::string_view key = "tokenizer.ggml.scores";
    if (file.find(key) == nullptr)
        return {};
    const auto* scores = find_items<float>(file, key);
    if (scores == nullptr)
        return corrupt(file, fmt::format("{} is not a list of 32-bit floats", key));
    if (scores->size() < vocabulary.names.size()) {
        return corrupt(
            file, fmt::format("{} has {} items for {} tokens", key, scores->size(), vocabulary.names.size()));
    }
    if (std::any_of(scores->begin(), scores->end(), [](float score) { return std::isnan(score); }))
        return corrupt(file, fmt::format("{} holds something that is not a number", key));
    vocabulary.scores = *scores;
    return {};
}

Status read_id(const gguf::File& file, std::string_view name, std::size_t vocabulary_size,
               std::optional<TokenId>& id) {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const gguf::Value* value = file.find(key);
    if (value == nullptr)
        return {};
    // Converters write -1, as a signed or unsigned integer of 32 or 64 bits, for "none".
    const auto number = file.unsigned_integer(key);
    const auto signed_number = file.number(key);
    if ((signed_number && *signed_number == -1.0) || number == std::numeric_limits<uint32_t>::max())
        return {};
    if (!number || *number >= vocabulary_size)
        return corrupt(file, fmt::format("{} is not one of the {} tokens", key, vocabulary_size));
    id = static_cast<TokenId>(*number);
    return {};
}

Status read_special_ids(const gguf::File& file, Vocabulary& vocabulary) {
    SpecialIds& special = vocabulary.special;
    const std::pair<std::string_view, std::optional<TokenId>*> fields[] = {
        {"bos", &special.bos},         {"eos", &special.eos},
        {"eot", &special.eot},         {"eom", &special.eom},
        {"unknown", &special.unknown}, {"padding", &special.padding},
        {"cls", &special.cls},         {"separator", &special.separator},
    };
    for (const auto& [name, id] : fields)
        ETNA_CHECK(read_id(file, name, vocabulary.names.size(), *id));
    if (!special.separator) // as converters spelled it for years
        ETNA_CHECK(read_id(file, "seperator", vocabulary.names.size(), special.separator));
    return {};
}

void collect_end_tokens(Vocabulary& vocabulary) {
    std::vector<TokenId>& ends = vocabulary.end_tokens;
    for (const auto& id : {vocabulary.special.eos, vocabulary.special.eot, vocabulary.special.eom}) {
        if (id)
            ends.push_back(*id);
    }
    // In gpt-oss's format <|end|> ends one message of a turn, not the turn.
    const bool messages_end = vocabulary.find("<|return|>") && vocabulary.find("<|call|>");
    for (const std::string_view name : end_names) {
        const auto token = vocabulary.find(name);
        if (!token || (messages_end && name == "<|end|>"))
            continue;
        // Some files type "<|im_end|>" as text, which it never is: it must match as one token and stay
        // hidden. The other names can be text ("</s>" closes an HTML element) and count only if the file
        // types them otherwise.
        TokenType& type = vocabulary.types[*token];
        if (type == TokenType::normal && name.starts_with("<|"))
            type = TokenType::control;
        if (type != TokenType::control && type != TokenType::user_defined)
            continue;
        ends.push_back(*token);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

} // namespace

Result<std::span<const std::string_view>> read_strings(const gguf::File& file, std::string_view key) {
    if (const auto* items = find_items<std::string_view>(file, key))
        return std::span<const std::string_view>(*items);
    return corrupt(
        file, fmt::format("{} is {}", key, file.find(key) == nullptr ? "missing" : "not a list of strings"));
}

std::optional<uint8_t> byte_of_name(std::string_view name) {
    if (name.size() != 6 || !name.starts_with("<0x") || name[5] != '>')
        return std::nullopt;
    unsigned value = 0;
    for (const char digit : name.substr(3, 2)) {
        if (digit >= '0' && digit <= '9') {
            value = 16 * value + static_cast<unsigned>(digit - '0');
        } else if (digit >= 'A' && digit <= 'F') {
            value = 16 * value + static_cast<unsigned>(digit - 'A' + 10);
        } else {
            return std::nullopt;
        }
    }
    return static_cast<uint8_t>(value);
}

Result<Vocabulary> Vocabulary::read(const gguf::File& file) {
    Vocabulary vocabulary;
    ETNA_CHECK(read_names(file, vocabulary));
    ETNA_CHECK(read_types(file, vocabulary));
    ETNA_CHECK(read_scores(file, vocabulary));
    ETNA_CHECK(read_special_ids(file, vocabulary));
    collect_end_tokens(vocabulary);
    return vocabulary;
}

std::optional<TokenId> Vocabulary::find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TokenId> Vocabulary::find_text(std::string_view name) const {
    const auto token = find(name);
    if (!token)
        return std::nullopt;
    switch (types[*token]) {
    case TokenType::control:
    case TokenType::unknown:
    case TokenType::byte:
        return std::nullopt;
    default:
        return token;
    }
}

SortedNames Vocabulary::text_names() const {
    SortedNames sorted;
    for (TokenId token = 0; token < names.size(); ++token) {
        const std::string_view name = names[token];
        if (!name.empty() && name.size() <= text_name_bytes_max && find_text(name) == token)
            sorted.add(name, token);
    }
    sorted.finish();
    return sorted;
}

} // namespace etna::text
