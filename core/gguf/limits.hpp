#pragma once

#include "core/base/bytes.hpp"

#include <cstdint>

/// Upper limits for a file's counts and sizes. Every other count is bounded by the remaining bytes of the
/// file.
namespace etna::gguf {

constexpr uint32_t minimum_version = 2; ///< version 1 had 32-bit counts and was replaced within weeks
constexpr uint32_t maximum_version = 3;

/// Header, metadata and tensor directory together. The largest vocabularies take about 30 MiB.
constexpr uint64_t max_directory_bytes = 256 * mebibyte;

constexpr uint64_t max_key_bytes = 65535;      ///< GGUF specification
constexpr uint64_t max_tensor_name_bytes = 64; ///< GGUF specification
constexpr uint32_t max_dimensions = 4;         ///< GGUF specification
constexpr uint32_t max_array_depth = 4;        ///< an array of plain values has depth 1

constexpr uint64_t default_alignment = 32; ///< GGUF specification
constexpr uint64_t minimum_alignment = 8;  ///< GGUF specification
constexpr uint64_t max_alignment = 64 * kibibyte;

constexpr uint32_t max_parts = 1024;       ///< files of a split model
constexpr uint64_t max_quoted_bytes = 100; ///< of a file's text inside an error message

} // namespace etna::gguf
