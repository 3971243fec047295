#include "core/generate/model_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

std::size_t longest_token(const text::Tokenizer& tokenizer) {
    std::size_t bytes = 0;
    for (TokenId token = 0; token < tokenizer.size(); ++token)
        bytes = std::max(bytes, tokenizer.bytes(token).size());
    return bytes;
}

} // namespace

Result<gguf::File> open_file(const store::ModelSource& source) {
    if (source.path.empty())
        return gguf::File::parse(source.bytes, source.name);
    return source.parts.empty() ? gguf::File::open(source.path) : gguf::File::open(source.parts);
}

uint64_t trained_context(const gguf::File& file) {
    const auto architecture = file.text("general.architecture");
    if (!architecture)
        return 0;
    return file.unsigned_integer(fmt::format("{}.context_length", *architecture)).value_or(0);
}

Result<ModelFile> ModelFile::read(const gguf::File& file, std::string name,
                                  const ChatTemplateChoice& choice) {
    ETNA_TRY(text::Tokenizer tokenizer, text::Tokenizer::create(file));
    ModelFile model = {.name = std::move(name), .tokenizer = std::move(tokenizer)};
    ETNA_TRY(model.chat, ChatFormats::read(file, model.tokenizer, choice));
    model.longest_token_bytes = longest_token(model.tokenizer);
    model.infill_tokens = text::find_infill_tokens(file, model.tokenizer);
    model.trained_context_tokens = trained_context(file);
    return model;
}

Status ModelFile::read_heads(const gguf::File& file, Pooling pooling, uint32_t width) {
    ETNA_TRY(embedding_head, EmbeddingHead::read(file, pooling, width));
    if (pooling == Pooling::rank)
        pair_format = PairFormat::read(file, tokenizer);
    return {};
}

} // namespace etna::generate
