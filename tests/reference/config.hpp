#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "tests/reference/rotary.hpp"

#include <cstddef>
#include <string>

namespace etna::reference {

/// What a GGUF file's metadata says about a model of the `llama` or `qwen3` architecture.
struct Config {
    std::string architecture;
    std::size_t layers = 0;
    std::size_t width = 0;        ///< of the residual stream ("embedding length")
    std::size_t feed_forward = 0; ///< width between gate / up and down
    std::size_t heads = 0;
    std::size_t kv_heads = 0;
    std::size_t head_length = 0; ///< of keys and of values
    double epsilon = 0;
    Pairing pairing = Pairing::adjacent;
    RotaryOptions rotary; ///< without divisors: they are a tensor
};

/// Reads the keys `ARCHITECTURE.*` of the GGUF specification, with the defaults of the convention: kv heads
/// as many as heads, head length = width / heads, rotated = head length, base 10000, no scaling (a scaling
/// factor without a type is linear), YaRN's original context = context_length, its betas 32 and 1, attention
/// factor 1. Errors: unsupported (architecture, scaling type, values of another length than keys), corrupt (a
/// key that is missing, of the wrong type, zero, or contradicts another).
Result<Config> read_config(const gguf::File& file);

} // namespace etna::reference
