#pragma once

#include "core/base/result.hpp"
#include "core/generate/chat_format.hpp"
#include "core/generate/embedding_head.hpp"
#include "core/generate/pair_format.hpp"
#include "core/generate/pooling.hpp"
#include "core/gguf/file.hpp"
#include "core/store/resolve.hpp"
#include "core/text/infill.hpp"
#include "core/text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::generate {

/// Opens a model's file. Errors: those of gguf::File::open().
Result<gguf::File> open_file(const store::ModelSource& source);

/// Returns the context length that the model was trained for; 0 if the file does not say.
uint64_t trained_context(const gguf::File& file);

/// What a model's file says about prompts and answers. It needs neither weights nor a device, and outlives
/// the gguf::File. Thread-safe while it is not changed.
struct ModelFile {
    /// Reads everything but embedding_head and pair_format, which depend on how embeddings are pooled.
    /// Errors: those of text::Tokenizer::create() and ChatFormats::read().
    static Result<ModelFile> read(const gguf::File& file, std::string name, const ChatTemplateChoice& choice);

    /// Reads embedding_head and pair_format. `width`: of a pooled vector. Errors: those of
    /// EmbeddingHead::read().
    Status read_heads(const gguf::File& file, Pooling pooling, uint32_t width);

    std::string name; ///< store::ModelSource::name
    text::Tokenizer tokenizer;
    std::size_t longest_token_bytes = 0; ///< byte length of the longest token's text
    ChatFormats chat = {};
    std::optional<text::InfillTokens> infill_tokens = {}; ///< empty if the model does not support it
    uint64_t trained_context_tokens = 0;                  ///< see trained_context()
    EmbeddingHead embedding_head = {};                    ///< the layers after the file's pooling
    PairFormat pair_format = {}; ///< how a reranker, a model with Pooling::rank, reads a query and a document
};

} // namespace etna::generate
