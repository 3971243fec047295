#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>

namespace etna::kernels {

/// How to draw from one row of logits, 32 bytes; mirrored by shaders/sample/arguments.h. See
/// sampling::Parameters.
struct SampleInfo {
    float temperature = 0;
    uint32_t top_k = 1; ///< at most candidates_max; ignored when temperature is 0
    float top_p = 1;
    float min_p = 0;
    uint32_t seed = 0;
    uint32_t position = 0;   ///< counter of the random number
    uint32_t slot = no_slot; ///< slot that also receives the drawn id
    uint32_t candidates = 0; ///< number of candidates returned

    static constexpr uint32_t no_slot = 0xFFFFFFFFU;
};
static_assert(sizeof(SampleInfo) == 32);

constexpr uint32_t candidates_max = 64;

/// Sampling output for each output row: 16 bytes, then candidates_max pairs (id, logit).
struct SampleResult {
    uint32_t token = 0;
    float logit = 0;        ///< of the token, before any filter
    float log_sum_exp = 0;  ///< over the vocabulary
    uint32_t nan_probe = 0; ///< 0: no logit is NaN; else 1 + the first probe that fired for a row of this
                            ///< step that was not finite
    struct Pair {
        uint32_t token;
        float logit;
    };
    Pair candidates[candidates_max] = {}; ///< descending logit, smaller id first among equals
};
static_assert(sizeof(SampleResult) == 16 + 8 * candidates_max);

/// Per output row of logits: log-sum-exp, the most likely candidates, and one drawn token. Two dispatches
/// that the caller records: sample_partial, sample_finish.
struct Sample {
    Activations logits; ///< [count, vocabulary]
    uint32_t count = 0;
    uint32_t candidates = 1;   ///< largest number that any row needs (top_k or candidates), 1..candidates_max
    vk::Range infos = {};      ///< SampleInfo [count]
    vk::Range slots = {};      ///< u32 [slots]
    vk::Range partials = {};   ///< scratch of sample_partial_bytes()
    vk::Range results = {};    ///< SampleResult [count]
    vk::Range nan_probes = {}; ///< NanProbe::nan_probes of the rows of this step; may be empty
};
uint64_t sample_partial_bytes(uint32_t rows, uint32_t vocabulary);
void sample_partial(const Launcher& launcher, const Sample& operation);
void sample_finish(const Launcher& launcher, const Sample& operation);

extern const Operation sample_partial_operation;
extern const Operation sample_finish_operation;

} // namespace etna::kernels
