#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/gguf/metadata.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etna::gguf {

/// One validated file: a whole model, or one part of a split one. Borrows from the file's bytes.
struct Part {
    Metadata metadata;
    std::vector<Tensor> tensors; ///< names are not yet known to be unique
};

/// `number` counts the parts of a split model from zero. Errors as in File::open, naming `file_name`.
Result<Part> read_part(ByteView bytes, std::string_view file_name, uint32_t number);

} // namespace etna::gguf
