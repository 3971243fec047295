#include "core/generate/pair_format.hpp"

#include "core/base/utf8.hpp"
#include "core/generate/chat_format.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace etna::generate {
namespace {

constexpr std::string_view template_key = "tokenizer.chat_template.rerank";
constexpr std::string_view query_slot = "{query}";
constexpr std::string_view document_slot = "{document}";

text::EncodeOptions options_of(const PromptBudget& budget) {
    return {.bos = text::AddBos::never,
            .is_cancelled = budget.is_cancelled,
            .reserve_memory = &budget.reserve_memory};
}

/// Tokenizes a client's text without the tokens that the tokenizer puts around it.
Result<std::vector<TokenId>> encode_literal(const text::Tokenizer& tokenizer, std::string_view text,
                                            const PromptBudget& budget) {
    text::EncodeOptions options = options_of(budget);
    options.special = text::SpecialTokens::literal;
    return tokenizer.encode(text, options);
}

/// Removes an incomplete character from the end of the text.
void drop_partial_character(std::string& text) {
    constexpr std::size_t partial_bytes_max = 3;
    for (std::size_t bytes = 1; bytes <= std::min(partial_bytes_max, text.size()); ++bytes) {
        const std::size_t begin = text.size() - bytes;
        if (next_utf8(std::string_view(text).substr(begin)).kind == Utf8Kind::truncated) {
            text.resize(begin);
            return;
        }
    }
}

/// Truncates the document to its first tokens, at a character boundary.
Result<std::string> cut_document(const text::Tokenizer& tokenizer, const TextPair& pair,
                                 const PromptBudget& budget) {
    if (!pair.document_tokens_max)
        return std::string(pair.document);
    ETNA_TRY(const auto tokens, encode_literal(tokenizer, pair.document, budget));
    if (tokens.size() <= *pair.document_tokens_max)
        return std::string(pair.document);
    std::string text;
    for (const TokenId token : std::span(tokens).first(*pair.document_tokens_max))
        text += tokenizer.bytes(token);
    drop_partial_character(text);
    if (tokenizer.strips_leading_space() && text.starts_with(' '))
        text.erase(0, 1);
    return text;
}

/// A text to encode, and the positions that split names of control tokens in it.
struct RenderedPair {
    std::string text;
    std::vector<std::size_t> barriers;
};

void append_literal(RenderedPair& rendered, std::string_view text, const chat::ControlNames& names) {
    for (const chat::NameBreak& one : names.breaks(text))
        rendered.barriers.push_back(rendered.text.size() + one.position);
    rendered.text += text;
}

/// Fills the slots of the template. Slot names in the client's texts are plain text.
RenderedPair render_pair(std::string_view format, std::string_view query, std::string_view document,
                         const chat::ControlNames& names) {
    RenderedPair rendered;
    while (!format.empty()) {
        const std::size_t at = std::min(format.find(query_slot), format.find(document_slot));
        rendered.text += format.substr(0, at);
        if (at == std::string_view::npos)
            break;
        const bool is_query = format.substr(at).starts_with(query_slot);
        append_literal(rendered, is_query ? query : document, names);
        format.remove_prefix(at + (is_query ? query_slot : document_slot).size());
    }
    return rendered;
}

} // namespace

PairFormat PairFormat::read(const gguf::File& file, const text::Tokenizer& tokenizer) {
    PairFormat format;
    const std::string_view text = file.text(template_key).value_or("");
    if (text.find(query_slot) != std::string_view::npos &&
        text.find(document_slot) != std::string_view::npos) {
        format.template_ = text;
        format.names_.emplace(control_names(tokenizer), text);
        return format;
    }
    constexpr std::size_t both_ends = 2;
    const auto ends = tokenizer.encode("", {});
    if (!ends || ends->size() != both_ends)
        return format;
    const std::string_view model = file.text("tokenizer.ggml.model").value_or("");
    const bool is_doubled =
        model != "bert" && file.boolean("tokenizer.ggml.add_sep_token").value_or(model == "t5");
    format.separation_ = is_doubled ? Separation::twice : Separation::once;
    return format;
}

Result<std::vector<TokenId>> PairFormat::encode(const text::Tokenizer& tokenizer, const TextPair& pair,
                                                const PromptBudget& budget) const {
    if (!template_.empty())
        return encode_rendered(tokenizer, pair, budget);
    if (separation_ != Separation::none)
        return encode_separated(tokenizer, pair, budget);
    return Error{
        ErrorKind::unsupported,
        "the model's file does not say how to join a query and a document: it has no template `rerank`",
        "convert the model again with a current converter"};
}

Result<std::vector<TokenId>> PairFormat::encode_rendered(const text::Tokenizer& tokenizer,
                                                         const TextPair& pair,
                                                         const PromptBudget& budget) const {
    ETNA_TRY(const std::string document, cut_document(tokenizer, pair, budget));
    const RenderedPair rendered = render_pair(template_, pair.query, document, *names_);
    text::EncodeOptions options = options_of(budget);
    options.barriers = rendered.barriers;
    return tokenizer.encode(rendered.text, options);
}

Result<std::vector<TokenId>> PairFormat::encode_separated(const text::Tokenizer& tokenizer,
                                                          const TextPair& pair,
                                                          const PromptBudget& budget) const {
    text::EncodeOptions options = options_of(budget);
    options.special = text::SpecialTokens::literal;
    options.bos = text::AddBos::as_model_says;
    ETNA_TRY(std::vector<TokenId> tokens, tokenizer.encode(pair.query, options));
    ETNA_TRY(std::vector<TokenId> document, encode_literal(tokenizer, pair.document, budget));
    if (pair.document_tokens_max && document.size() > *pair.document_tokens_max)
        document.resize(*pair.document_tokens_max);
    const TokenId end = tokens.back();
    if (separation_ == Separation::twice)
        tokens.push_back(end);
    tokens.insert(tokens.end(), document.begin(), document.end());
    tokens.push_back(end);
    return tokens;
}

} // namespace etna::generate
