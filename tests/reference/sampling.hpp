#pragma once

#include "core/sampling/parameters.hpp"
#include "tests/reference/operations.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::reference {

struct Choice {
    TokenId token = 0;
    double probability = 0;
};

/// Whether XTC removes the top choices in this draw.
enum class Xtc : uint8_t { spares, strikes };

/// The distribution of a token, by the second and third step of core/sampling/parameters.hpp: top-n-sigma on
/// the logits; softmax of the rest; top-k, typical, top-p, min-p and XTC in that order, each on the
/// renormalised rest of the one before; then probabilities to the power of 1 / temperature, renormalised.
/// Tokens with a logit of -infinity are excluded. Most likely first, the smaller id first among equals.
/// Temperature 0 gives the one greedy choice. Precondition (asserted): logits is not empty.
std::vector<Choice> distribution(View logits, const sampling::Parameters& parameters, Xtc xtc = Xtc::spares);

/// The first choice at which the running sum of probabilities exceeds `uniform` in [0, 1); the last one if
/// rounding leaves the sum below. Precondition (asserted): choices is not empty.
TokenId draw(std::span<const Choice> choices, double uniform);

/// Philox4x32 with 10 rounds: four random words that depend on key and counter alone.
/// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The uniform number of core/sampling/random.hpp: the top 24 bits of the first word for the key (seed,
/// 0) and the counter (position, 0, 0, 0), over 2^24.
double uniform(uint32_t seed, uint32_t position);

/// Whether the second word's number, made the same way, is below xtc_probability.
Xtc xtc_at(const sampling::Parameters& parameters, uint32_t position);

} // namespace etna::reference
