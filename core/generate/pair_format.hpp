#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/control_names.hpp"
#include "core/gguf/file.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

struct PromptBudget;

/// A query, and a document whose relevance to it is the question.
struct TextPair {
    std::string_view query;
    std::string_view document;
    std::optional<uint32_t> document_tokens_max =
        {}; ///< the document's further tokens are cut off; empty: none
};

/// How a reranker reads a query and a document as one text: through the file's template `rerank`, with
/// {query} and {document} (Qwen3), or between the tokens that the tokenizer puts around a text: [CLS] query
/// [SEP] document [SEP] (BERT), <s> query </s></s> document </s> (RoBERTa). The names of control tokens in
/// both are text. Immutable.
class PairFormat {
public:
    /// Joins nothing.
    PairFormat() = default;

    /// Reads the format of the file.
    static PairFormat read(const gguf::File& file, const text::Tokenizer& tokenizer);

    /// Returns the tokens of the pair. `tokenizer` is that of read(). Errors: unsupported (the file has
    /// neither a template nor such tokens), and those of tokenizing.
    [[nodiscard]] Result<std::vector<TokenId>> encode(const text::Tokenizer& tokenizer, const TextPair& pair,
                                                      const PromptBudget& budget) const;

private:
    enum class Separation : uint8_t {
        none,
        once,  ///< one token between query and document
        twice, ///< two
    };

    [[nodiscard]] Result<std::vector<TokenId>>
    encode_rendered(const text::Tokenizer& tokenizer, const TextPair& pair, const PromptBudget& budget) const;
    [[nodiscard]] Result<std::vector<TokenId>> encode_separated(const text::Tokenizer& tokenizer,
                                                                const TextPair& pair,
                                                                const PromptBudget& budget) const;

    std::string template_;                    ///< empty: none
    std::optional<chat::ControlNames> names_; ///< with a template
    Separation separation_ = Separation::none;
};

} // namespace etna::generate
