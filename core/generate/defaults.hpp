#pragma once

#include "core/gguf/file.hpp"
#include "core/sampling/parameters.hpp"
#include "core/store/generation_config.hpp"

#include <cstdint>
#include <optional>

namespace etna::generate {

/// The sampling that a caller asked for, as in sampling::Parameters; what is empty is the model's choice.
struct SamplingWishes {
    std::optional<float> temperature = {};
    std::optional<uint32_t> top_k = {};
    std::optional<float> top_p = {};
    std::optional<float> min_p = {};
    std::optional<float> typical_p = {};
    std::optional<float> top_n_sigma = {};
    std::optional<float> xtc_probability = {};
    std::optional<float> xtc_threshold = {};
    std::optional<uint32_t> min_keep = {};
    std::optional<float> repetition_penalty = {};
    std::optional<uint32_t> repetition_window_tokens = {};
    std::optional<float> presence_penalty = {};
    std::optional<uint32_t> presence_window_tokens = {};
    std::optional<float> frequency_penalty = {};
    std::optional<uint32_t> frequency_window_tokens = {};
    std::optional<float> dry_multiplier = {};
    std::optional<float> dry_base = {};
    std::optional<uint32_t> dry_allowed_length = {};
    std::optional<uint32_t> dry_window_tokens = {};
};

/// What the model's file recommends in `general.sampling.temp`, `.top_k`, `.top_p`, `.min_p`,
/// `.xtc_probability`, `.xtc_threshold`,
/// `.penalty_repeat` and `.penalty_last_n`, where -1 is the whole history (keys as llama.cpp writes them).
/// Values out of range and of another type are ignored with a warning in the log.
SamplingWishes recommended_sampling(const gguf::File& file);

/// Puts the advice of a file beside the model over that of the model's own. Values out of range are ignored
/// with a warning in the log.
void apply(const store::GenerationConfig& config, SamplingWishes& wishes);

/// `defaults` with the wishes put over them.
sampling::Parameters with_wishes(sampling::Parameters defaults, const SamplingWishes& wishes);

/// A seed from the operating system's random source.
uint32_t random_seed();

/// The seed of the answer that stands so many places behind the one with `first`; begins again from the
/// lowest.
int64_t seed_after(int64_t first, std::size_t places);

/// What the sampler takes for a seed: itself up to 32 bits, so that no two of these are the same; of any
/// other a mixture of its halves.
uint32_t sampler_seed(int64_t seed);

} // namespace etna::generate
