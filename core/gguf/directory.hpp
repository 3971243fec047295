#pragma once

#include "core/base/result.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etna::gguf {

/// Bytes of the smallest possible entry: an empty name's length, the number of dimensions, one dimension,
/// type and offset.
constexpr uint64_t minimum_tensor_bytes = 8 + 4 + 8 + 4 + 8;

struct DirectoryLayout {
    std::string_view file_name; ///< for errors
    uint64_t file_bytes;        ///< size of the entire file
    uint64_t tensor_count;      ///< from Cursor::read_count
    uint64_t alignment;         ///< a power of two
    uint32_t part;              ///< index of this file in a split model
};

/// Reads the tensor directory and locates each tensor's data after it. Every tensor lies inside the file, at
/// an aligned offset, and overlaps no other. Errors: corrupt, and unsupported for a tensor type that cannot
/// be sized.
Result<std::vector<Tensor>> read_tensors(Cursor& cursor, const DirectoryLayout& layout);

} // namespace etna::gguf
