#pragma once

#include "core/base/result.hpp"

#include <cstdint>

namespace etna::engine {

/// When a group that has as many complete hypotheses as it may hold continues to search for better ones.
enum class EarlyStopping : uint8_t {
    heuristic, ///< while the best live hypothesis would be better if it ended now
    first,     ///< not at all: the group stops at once
    never,     ///< while the best live hypothesis could become better, at any length
};

/// Options of a beam search; see beam_search.hpp. The filters and the temperature of sampling do not apply.
struct BeamOptions {
    uint32_t width = 1;          ///< live hypotheses, 1..beams_max
    uint32_t groups = 1;         ///< groups of equal size that avoid each other's tokens; divides width
    uint32_t answers = 1;        ///< hypotheses that are returned, at most width
    float diversity_penalty = 0; ///< for each time an earlier group took the token, 0..diversity_penalty_max
    float length_penalty = 1;    ///< exponent of the length, -length_penalty_max..length_penalty_max
    EarlyStopping early_stopping = EarlyStopping::heuristic;
};

constexpr uint32_t beams_max = 64;
constexpr float length_penalty_max = 10;
constexpr float diversity_penalty_max = 100;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const BeamOptions& beams);

} // namespace etna::engine
