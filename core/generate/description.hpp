#pragma once

#include "core/generate/chat_format.hpp"
#include "core/gguf/file.hpp"
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

/// Whether answers of a chat format may have reasoning before them.
bool may_think(const ChatFormat& format);

} // namespace etna::generate
