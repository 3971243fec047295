#pragma once

#include "core/base/result.hpp"

#include <cstdint>

namespace etna::engine {

/// When a group of hypotheses with as many complete ones as it may keep looks for better ones.
enum class EarlyStopping : uint8_t {
    heuristic, ///< while the best that lives would be better if it ended now
    first,     ///< not at all
    never,     ///< while the best that lives could become better, at any length
};

/// How a beam search goes; see beam_search.hpp. The filters and the temperature of sampling have no part in
/// it.
struct Beams {
    uint32_t width = 1;          ///< hypotheses that live, 1..beams_max
    uint32_t groups = 1;         ///< of equal size, that avoid each other's tokens; divides width
    uint32_t answers = 1;        ///< hypotheses that are told, at most width
    float diversity_penalty = 0; ///< per group that took the same token, 0..diversity_penalty_max
    float length_penalty = 1;    ///< exponent, -length_penalty_max..length_penalty_max
    EarlyStopping early_stopping = EarlyStopping::heuristic;
};

constexpr uint32_t beams_max = 64;
constexpr float length_penalty_max = 10;
constexpr float diversity_penalty_max = 100;

/// Errors: invalid_argument, naming the parameter and its range.
Status check(const Beams& beams);

} // namespace etna::engine
