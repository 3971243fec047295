#pragma once

#include "core/base/result.hpp"
#include "core/gguf/part.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace etna::gguf {

/// The name of one part of a split model: PREFIX-00002-of-00005.gguf, as llama.cpp's gguf-split writes it.
struct SplitName {
    std::string prefix; ///< with the folder
    uint32_t number;    ///< from 1 to count
    uint32_t count;
    std::string extension = ".gguf"; ///< as it is spelled

    [[nodiscard]] std::filesystem::path path(uint32_t part_number) const;
};

/// Returns whether the name of a file ends in .gguf, in letters of either case.
bool has_gguf_extension(std::string_view file_name);

/// Empty for any other name.
std::optional<SplitName> parse_split_name(const std::filesystem::path& path);

/// Returns the name of the part that a path leads to: its own, or the one that a symbolic link leads to if
/// the path has another name, or no parts beside it. Empty if there is none. Reads the disk.
std::optional<SplitName> find_split_name(const std::filesystem::path& path);

/// Rejects a file whose metadata declares it as a part of a split model, because its siblings cannot be
/// located.
Status check_not_split(const Metadata& metadata, std::string_view file_name);

/// Checks each part's index (split.no), and that all parts agree on the number of parts (split.count) and
/// tensors (split.tensors.count). `parts[i]` was read from `paths[i]`; there is at least one.
Status check_parts_agree(std::span<const std::filesystem::path> paths, std::span<const Part> parts);

} // namespace etna::gguf
