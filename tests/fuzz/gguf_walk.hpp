#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>

namespace etna::fuzz {

struct GrammarMatcher {
    uint64_t values = 0; ///< metadata values seen, elements of arrays included
    uint64_t tensors = 0;
    uint64_t checksum = 0; ///< over every text and the first and last byte of every tensor
};

/// Parses the bytes as a GGUF file and reads all its content: every value at any depth, every look-up, both
/// ends of every tensor. Throws std::logic_error if the reader violates its interface.
Result<GrammarMatcher> walk_gguf(ByteView bytes);

/// As above, for an open file.
GrammarMatcher walk_gguf(const gguf::File& file);

} // namespace etna::fuzz
