#pragma once

#include "tests/reference/operations.hpp"

#include <cstddef>
#include <vector>

namespace etna::reference {

/// The updates of one layer of AltUp (arXiv 2301.13310), as transformers has them in modeling_gemma3n.py
/// (Gemma3nTextAltUp).
struct AltUp {
    Matrix router;      ///< [streams, width]
    Vector router_norm; ///< [width]
    Matrix prediction;  ///< [streams^2, streams]
    Matrix correction;  ///< [streams, streams]
    double epsilon = 0;
};

/// tanh(router (rms_norm(x) / width)).
Vector modalities(const AltUp& altup, View x);

/// The streams' predictions, by the modalities of stream 0.
std::vector<Vector> predict(const AltUp& altup, const std::vector<Vector>& streams);

/// The predictions, corrected by a layer's result for prediction 0.
std::vector<Vector> correct(const AltUp& altup, const std::vector<Vector>& predictions, View activated);

/// x sqrt(mean(target^2)) / sqrt(max(mean(x^2), epsilon)).
Vector with_magnitude_of(View target, View x, double epsilon);

/// max(x - (mean + deviations sigma), 0), sigma of the population (Gemma3nTextMLP._gaussian_topk).
Vector statistical_top_k(View x, double deviations);

} // namespace etna::reference
