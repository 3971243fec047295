#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/request.hpp"
#include "core/engine/stream.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace etna::generate {

/// How to handle a text that exceeds the model's limit.
enum class Overlong : uint8_t {
    refuse,
    truncate, ///< the end is dropped, except for a control token that the tokenizer adds there
};

/// A text to embed.
struct EmbeddingRequest {
    std::variant<std::string, std::vector<TokenId>> input;
    /// Whether names of special tokens in a text, such as [SEP], are parsed as those tokens.
    text::SpecialTokens special = text::SpecialTokens::literal;
    std::optional<Pooling> pooling = {};             ///< empty: the model's; `rank` only if the model's is
    std::optional<uint32_t> dimensions = {};         ///< number of leading elements to return; empty: all
    Normalisation normalisation = Normalisation::l2; ///< scores are never normalised
    Overlong overlong = Overlong::refuse;
    uint64_t cache_salt = 0; ///< see Request
    uint64_t client = 0;     ///< the same
    int32_t priority = 0;    ///< the same
};

struct Embedding {
    std::vector<float> values; ///< with Pooling::rank, only the score
    uint32_t tokens = 0;       ///< tokens of the text, including those that the tokenizer adds
};

/// Embeds texts in order. Many texts are in flight at once; their rows share steps with each other and with
/// generation. Not thread-safe, but several threads may each have an Embedder of one model. Destruction
/// cancels unread texts.
class Embedder {
public:
    /// Borrows `model`.
    explicit Embedder(const Model& model);

    /// Tokenizes a text and queues it. Errors: invalid_argument (an empty text, more dimensions than the
    /// model has), context_exceeded, cancelled, those of tokenizing, and the engine's.
    Status add(const EmbeddingRequest& request, const PromptBudget& budget = {});

    /// Number of texts whose embeddings next() has not returned yet.
    [[nodiscard]] std::size_t pending() const { return texts_.size(); }

    /// Whether the engine is saturated: further texts would only take memory.
    [[nodiscard]] bool is_full() const { return texts_.size() >= texts_max_; }

    /// Returns the embedding of the oldest text. Blocks. Errors: cancelled, busy (other clients fill the
    /// queue), and the engine's. Precondition: pending() > 0.
    Result<Embedding> next(const CancelPoll& is_cancelled = {});

private:
    struct Text {
        engine::Request request; ///< valid until it is submitted
        std::optional<engine::Stream> stream;
        uint32_t dimensions = 0;
        Normalisation normalisation = Normalisation::l2;
        bool has_head = false; ///< the model's head is applied, because the pooling is the model's own
    };

    Status submit();

    const Model* model_;
    std::size_t texts_max_;
    std::deque<Text> texts_;
    std::size_t submitted_ = 0; ///< number of leading texts with a stream
};

/// Returns the number of elements of an embedding with the model's own pooling.
uint32_t embedding_dimensions(const Model& model);

/// Returns the maximum number of tokens in a text.
uint32_t embedding_tokens_max(const Model& model);
uint32_t embedding_tokens_max(const engine::Limits& limits); ///< the same, by a model's limits

/// Returns the request for the hidden states of a text that `pooling` reads. Its prompt is not checked.
engine::Request hidden_request(std::vector<TokenId> tokens, Pooling pooling, const engine::Limits& limits);

} // namespace etna::generate
