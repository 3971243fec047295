#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/control_names.hpp"
#include "core/generate/prompt_budget.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

/// A query, and a document to rank by its relevance to the query.
struct TextPair {
    std::string_view query;
    std::string_view document;
    std::optional<uint32_t> document_tokens_max =
        {}; ///< truncates the document to this many tokens; empty: no limit
};

/// Joins a query and a document into the input of a reranker: through the file's template `rerank`, with
/// {query} and {document} (Qwen3), or with the tokenizer's separators: [CLS] query [SEP] document [SEP]
/// (BERT), <s> query </s></s> document </s> (RoBERTa). Names of control tokens in both texts are plain text.
/// Immutable.
class PairFormat {
public:
    /// A format that supports no pairs.
    PairFormat() = default;

    /// Reads the format of the file.
    static PairFormat read(const gguf::File& file, const text::Tokenizer& tokenizer);

    /// Returns the tokens of the pair. `tokenizer`: the one passed to read(). Errors: unsupported (the file
    /// has neither a template nor such tokens), and those of tokenizing.
    [[nodiscard]] Result<std::vector<TokenId>> encode(const text::Tokenizer& tokenizer, const TextPair& pair,
                                                      const PromptBudget& budget) const;

private:
    enum class Separation : uint8_t {
        none,
        once,  ///< one separator between query and document
        twice, ///< two separators
    };

    [[nodiscard]] Result<std::vector<TokenId>>
    encode_rendered(const text::Tokenizer& tokenizer, const TextPair& pair, const PromptBudget& budget) const;
    [[nodiscard]] Result<std::vector<TokenId>> encode_separated(const text::Tokenizer& tokenizer,
                                                                const TextPair& pair,
                                                                const PromptBudget& budget) const;

    std::string template_;                    ///< empty: none
    std::optional<chat::ControlNames> names_; ///< present with a template
    Separation separation_ = Separation::none;
};

} // namespace etna::generate
