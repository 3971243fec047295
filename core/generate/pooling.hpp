#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace etna::generate {

/// How the hidden states of a text are reduced to one vector.
enum class Pooling : uint8_t {
    mean, ///< mean over all tokens
    cls,  ///< hidden state of the first token
    last, ///< hidden state of the last token
    /// A score from a classification head, applied to the first token in encoders, otherwise to the last.
    rank,
};

/// Returns the pooling named mean, cls, last or rank; empty for another name.
std::optional<Pooling> pooling_named(std::string_view name);

/// How a pooled vector is scaled.
enum class Normalisation : uint8_t {
    none,
    l2, ///< divided by its Euclidean length
};

/// Reads `<architecture>.pooling_type`, with llama.cpp's numbers. `fallback` if the key is absent or 0
/// (none). Errors: corrupt (another type or number).
Result<Pooling> read_pooling(const gguf::File& file, Pooling fallback);

/// Divides the vector by its Euclidean norm; a zero vector is unchanged.
void normalise(std::span<float> values);

} // namespace etna::generate
