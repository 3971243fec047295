#pragma once

#include "core/base/result.hpp"
#include "core/generate/chat_format.hpp"
#include "core/gguf/file.hpp"
#include "core/store/resolve.hpp"

#include <cstdint>
#include <string>

namespace etna::generate {

/// Opens a model's file. Errors: those of gguf::File::open().
Result<gguf::File> open_file(const store::ModelSource& source);

/// Returns the context length that the model was trained for; 0 if the file does not say.
uint64_t trained_context(const gguf::File& file);

/// Facts about a model that need its file but no device.
struct ModelSummary {
    uint64_t trained_context_tokens = 0; ///< 0: the file does not say
    bool can_chat = true;                ///< false: its own chat template is invalid
    std::string stand_in_template; ///< built-in template used because the model has none; empty: not needed
};

/// Runs the checks of a load that depend only on the file's content, without reading weights. Blocking.
/// Errors: those of gguf::File::open(), text::Tokenizer::create(), ChatFormats::read() and
/// model::check_model(), and those of the chosen template.
Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice);

} // namespace etna::generate
