#pragma once

#include "core/sampling/parameters.hpp"

#include <cstdint>
#include <optional>

namespace etna::sampling {

/// Parameters that a model or a caller sets; an empty one leaves the default.
struct Overrides {
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

/// Returns `defaults` overridden by `overrides`.
Parameters with_overrides(Parameters defaults, const Overrides& overrides);

/// Returns `others` overridden by `overrides`.
Overrides over(const Overrides& overrides, Overrides others);

} // namespace etna::sampling
