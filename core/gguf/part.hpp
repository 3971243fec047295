#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/gguf/metadata.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etna::gguf {

/// One validated file: a complete model, or one part of a split model. Borrows from the file's prefix.
struct Part {
    Metadata metadata;
    std::vector<Tensor> tensors; ///< names are not yet known to be unique
};

/// The in-memory prefix of a file; the directory may extend past it.
struct FilePrefix {
    ByteView bytes;
    uint64_t file_bytes = 0; ///< size of the entire file
};

/// `number` counts the parts of a split model from zero. Errors as in File::open, naming `file_name`; corrupt
/// also if the prefix does not contain the directory.
Result<Part> read_part(const FilePrefix& prefix, std::string_view file_name, uint32_t number);

} // namespace etna::gguf
