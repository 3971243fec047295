#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace etna::gguf {

/// Element formats as numbered in the GGUF specification (ggml_type). Lists only types of known size.
enum class TensorType : uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    iq4_nl = 20,
    iq4_xs = 23,
    bf16 = 30,
    mxfp4 = 39,
};

/// How elements are stored: `block_elements` consecutive elements of a row take `block_bytes` bytes.
struct TensorTypeInfo {
    std::string_view name; ///< conventional name: "Q8_0"
    uint32_t block_elements;
    uint32_t block_bytes;
};

/// Empty for a number that is not listed above.
std::optional<TensorTypeInfo> describe(TensorType type);

} // namespace etna::gguf
