#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace etna::generate {

/// How the hidden states of a text's tokens become one vector.
enum class Pooling : uint8_t {
    mean, ///< of all tokens
    cls,  ///< the first token's
    last, ///< the last token's
    /// A score of the text, by the head of a classifier: of an encoder's first token, otherwise of the last.
    rank,
};

/// The pooling named mean, cls, last or rank; empty for another name.
std::optional<Pooling> pooling_named(std::string_view name);

/// What happens to a pooled vector.
enum class Normalisation : uint8_t {
    none,
    l2, ///< divided by its Euclidean length
};

/// Reads `<architecture>.pooling_type`, with llama.cpp's numbers. `fallback` if the key is absent or 0
/// (none). Errors: corrupt (another type or number).
Result<Pooling> read_pooling(const gguf::File& file, Pooling fallback);

/// Divides by the Euclidean length; a vector of zeros stays.
void normalise(std::span<float> values);

} // namespace etna::generate
