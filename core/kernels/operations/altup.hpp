#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

constexpr uint32_t altup_streams_max = 8;

/// Alternating updates (AltUp, arXiv 2301.13310) of n streams X_i of each row, as Gemma 3n has them. With
/// m = tanh(Router (rms_norm(a) norm)) and c = Coefficients m:
///     altup_predict: a = X_0, X_i += sum_l c[i n + l] X_l, and prediction = X_0;
///     altup_correct: a = active, X_0 = prediction + (1 + c[0]) d and X_i += (1 + c[i]) d with
///                    d = active - prediction; then prediction = X_0.
struct AltUp {
    Activations active;          ///< X_0
    Activations streams;         ///< [n - 1 times the rows of active, columns]: X_1 to X_(n - 1)
    Activations prediction;      ///< of the columns of active
    uint32_t count = 0;          ///< rows [0, count) of each stream
    uint32_t inputs = 0;         ///< n, from 2 to altup_streams_max
    vk::Range router = {};       ///< f32 [n][columns]
    vk::Range norm = {};         ///< f32 [columns]
    vk::Range coefficients = {}; ///< f32 [n n][n]; altup_correct: f32 [n][n]
    float epsilon = 0;
};
void altup_predict(const Launcher& launcher, const AltUp& operation);
/// Also writes output = X_0 scale, elementwise; scale: f32 [columns].
void altup_correct(const Launcher& launcher, const AltUp& operation, vk::Range scale,
                   const Activations& output);

/// output[r] (=|+=) input[r] rms(target[r]) / sqrt(max(mean(input[r]^2), epsilon)) for rows [0, count). The
/// input may be the output.
struct MatchRms {
    Activations input;
    Activations target;
    Activations output;
    uint32_t count = 0;
    float epsilon = 0;
    Store store = Store::replace;
};
void match_rms(const Launcher& launcher, const MatchRms& operation);

/// x = max(x - (mean + deviations sigma), 0) for each row, with its mean and standard deviation (of the
/// population); in place. Statistical top-k (arXiv 2506.06644).
struct StatisticalTopK {
    Activations values;
    uint32_t first = 0;
    uint32_t count = 0;
    float deviations = 0;
};
void statistical_top_k(const Launcher& launcher, const StatisticalTopK& operation);

extern const Operation altup_operation;
extern const Operation match_rms_operation;
extern const Operation statistical_top_k_operation;

} // namespace etna::kernels
