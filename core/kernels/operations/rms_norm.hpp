#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>

namespace etna::kernels {

/// No NaN probe, as the number of one; those of the forward pass are numbered from 0. See RmsNorm::nan_probe.
constexpr uint32_t no_nan_probe = 0xFFFF;
/// A check of a norm's input for values that are not finite.
struct NanProbe {
    vk::Range
        nan_probes; ///< u32 [rows of the input]: the first probe that fired for the row, or no_nan_probe
    uint32_t nan_probe = 0; ///< number of this probe, below no_nan_probe; probe 0 resets `nan_probes`
};

/// y[i] (=|+=) x[r(i)] / sqrt(mean(x[r(i)]^2) + epsilon) * weight, with r(i) = indices[i], or first + i
/// without indices. A row of several groups is normalised group by group. Source: arXiv 1910.07467. With
/// `subtracts_mean` and `bias` it is layer norm (arXiv 1607.06450).
struct RmsNorm {
    Activations input;
    Activations output;
    vk::Range weight = {}; ///< f32 [columns / groups]
    uint32_t groups = 1;   ///< of a row; their width is a multiple of 4 if there are several
    uint32_t input_first = 0;
    uint32_t output_first = 0;
    uint32_t count = 0;
    std::optional<vk::Range> indices = {}; ///< u32 [count], rows of `input`
    float epsilon = 1e-5F;
    Store store = Store::replace;
    float factor = 1;                              ///< multiplies y, after the addition
    std::optional<vk::Range> scale = std::nullopt; ///< f32 [1]: the same
    std::optional<NanProbe> nan_probe = std::nullopt;
    std::optional<PackedForm> packs = std::nullopt; ///< also writes `output` in this form
    bool subtracts_mean = false;                    ///< of x[r(i)], first
    std::optional<vk::Range> bias =
        std::nullopt;            ///< f32 [columns / groups]: added to the product with weight
    bool replaces_input = false; ///< y[i] is stored in x[r(i)] too; without indices
};
void rms_norm(const Launcher& launcher, const RmsNorm& operation);

extern const Operation rms_norm_operation;

} // namespace etna::kernels
