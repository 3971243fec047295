#pragma once

#include "core/gguf/file.hpp"
#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>

namespace etna::generate {

/// The sampling that a caller asked for; what is empty is the model's choice.
struct SamplingWishes {
    std::optional<float> temperature = {};
    std::optional<uint32_t> top_k = {};
    std::optional<float> top_p = {};
    std::optional<float> min_p = {};
};

/// etna's defaults (sampling::Parameters), replaced by what the model's file recommends in
/// `general.sampling.temp`,
/// `.top_k`, `.top_p` and `.min_p` (keys as llama.cpp writes them). Values out of range and of another
/// type are ignored with a warning in the log.
sampling::Parameters sampling_defaults(const gguf::File& file);

/// `defaults` with the wishes put over them.
sampling::Parameters with_wishes(sampling::Parameters defaults, const SamplingWishes& wishes);

/// A seed from the operating system's random source.
uint32_t random_seed();

} // namespace etna::generate
