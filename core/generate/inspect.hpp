#pragma once

#include "core/base/result.hpp"
#include "core/generate/chat_format.hpp"
#include "core/gguf/file.hpp"
#include "core/store/resolve.hpp"

#include <cstdint>
#include <string>

namespace etna::generate {

/// The file of a model. Errors: those of gguf::File::open().
Result<gguf::File> open_file(const store::ModelSource& source);

/// What the model was trained for; 0 where the file does not say.
uint64_t trained_context(const gguf::File& file);

/// What a model's file tells without a device.
struct ModelSummary {
    uint64_t trained_context_tokens = 0; ///< 0: the file does not say
    bool can_chat = true;                ///< false: its own chat template is wrong
    std::string stand_in_template; ///< the built-in one that stands in for one of its own; empty: none does
};

/// Reads the file as far as loading it would be refused for what is in it; no weights. Blocking. Errors:
/// those of gguf::File::open(), text::Tokenizer::create(), ChatFormats::read() and model::check_model(), and
/// what is wrong with the template that was chosen.
Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice);

} // namespace etna::generate
