#pragma once

#include "core/base/result.hpp"
#include "core/generate/chat_format.hpp"
#include "core/gguf/file.hpp"
#include "core/store/resolve.hpp"
#include "core/text/tokenizer.hpp"

#include <cstdint>
#include <string>

namespace etna::generate {

/// A model's kind and size, as its file gives them.
struct ModelDescription {
    std::string architecture = {}; ///< empty: the file does not say
    uint64_t parameters = 0;       ///< elements of all tensors
    uint64_t tensor_bytes = 0;     ///< of all files of a split model
    std::string format = {};       ///< of the tensors that have the most bytes: "Q4_K"
};

ModelDescription description_of(const gguf::File& file);

/// The abilities of a model that its file reveals.
struct ModelAbilities {
    bool embeds = false;      ///< it encodes or pools the states of a text, and does not continue texts
    bool calls_tools = false; ///< its template shows tools to it
    bool thinks = false;      ///< its answers may have reasoning before them
    bool infills = false;     ///< it has tokens for fill-in-the-middle
};

ModelAbilities abilities_of(const gguf::File& file, const text::Tokenizer& tokenizer,
                            const ChatFormats& formats);

/// Facts about a model that need its file but no device.
struct ModelSummary {
    uint64_t trained_context_tokens = 0; ///< 0: the file does not say
    bool can_chat = true;                ///< false: its own chat template is invalid
    std::string stand_in_template; ///< built-in template used because the model has none; empty: not needed
    ModelDescription description = {};
    ModelAbilities abilities = {};
};

/// Runs the checks of a load that depend only on the file's content, without reading weights. Blocking.
/// Errors: those of gguf::File::open(), text::Tokenizer::create(), ChatFormats::read() and
/// model::check_model(), and those of the chosen template.
Result<ModelSummary> inspect(const store::ModelSource& source, const ChatTemplateChoice& choice);

/// Whether answers of a chat format may have reasoning before them.
bool may_think(const ChatFormat& format);

} // namespace etna::generate
