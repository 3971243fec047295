#pragma once

#include "core/sampling/candidates.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace etna::sampling {

// Each filter takes candidates in order (comes_before), all finite, with their softmax as the distribution,
// in double, summed in that order. No filter leaves fewer than min_keep of its input, or than one. Pure.
// Precondition: there are candidates.

/// Length of the head whose logits are at least max - n * sigma, where sigma is the standard deviation of all
/// finite `logits` (of the population); all if n is 0. Source: Tang et al., "Top-n-sigma: not all logits are
/// you need", arXiv 2411.07641.
std::size_t count_within_sigmas(std::span<const float> logits, double n, std::size_t min_keep);

/// Retains the smallest set of candidates with at least the probability typical_p, taken by ascending |H +
/// log p|, where H is the entropy: the distance of a candidate's surprisal from the expected one. Among
/// equals the earlier candidate comes first. Preserves the order. All if typical_p is 1. `scratch` is reused
/// memory. Source: Meister et al., "Locally typical sampling", arXiv 2202.00666.
void keep_typical(std::vector<Candidate>& candidates, double typical_p, std::size_t min_keep,
                  std::vector<std::pair<double, uint32_t>>& scratch);

/// Length of the shortest head with at least the probability top_p; all if top_p is 1. Source: Holtzman et
/// al., "The curious case of neural text degeneration", arXiv 1904.09751.
std::size_t count_within_top_p(std::span<const Candidate> candidates, double top_p, std::size_t min_keep);

/// Length of the head with probabilities of at least min_p times the first one's. Source: Nguyen et al.,
/// "Turning up the heat", arXiv 2407.01082.
std::size_t count_within_min_p(std::span<const Candidate> candidates, double min_p, std::size_t min_keep);

/// "Exclude top choices": the number of candidates to remove from the front: if several have at least the
/// probability `threshold`, all of those but the last. 0 if that would leave fewer than min_keep. Source:
/// p-e-w, text-generation-webui pull request 6335.
std::size_t count_top_choices(std::span<const Candidate> candidates, double threshold, std::size_t min_keep);

/// Index of the first candidate at which the running sum of probabilities exceeds `number` in [0, 1), where
/// probabilities are the softmax of logit / temperature, temperature > 0.
std::size_t draw(std::span<const Candidate> candidates, double temperature, double number);

} // namespace etna::sampling
