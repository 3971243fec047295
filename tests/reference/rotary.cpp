#include "tests/reference/rotary.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace etna::reference {
namespace {

// The (fractional) number of the pair that turns `rotations` times over the original context:
// context * base^(-2i / rotated) = 2 pi rotations, solved for i.
double pair_with_rotations(double rotations, const Yarn& yarn, const RotaryOptions& options) {
    const double radians_per_turn = 2 * std::numbers::pi;
    return static_cast<double>(options.rotated) *
           std::log(yarn.original_context_tokens / (rotations * radians_per_turn)) /
           (2 * std::log(options.base));
}

// How much of pair i is interpolated: 0 for the fast pairs, 1 for the slow ones.
double interpolated_share(std::size_t pair, const Yarn& yarn, const RotaryOptions& options) {
    const double first = std::max(std::floor(pair_with_rotations(yarn.beta_fast, yarn, options)), 0.0);
    const double last = std::min(std::ceil(pair_with_rotations(yarn.beta_slow, yarn, options)),
                                 static_cast<double>(options.rotated) - 1);
    const double smallest_ramp = 0.001; // of the authors' implementation, where both ends meet
    const double ramp = (static_cast<double>(pair) - first) / std::max(last - first, smallest_ramp);
    return std::clamp(ramp, 0.0, 1.0);
}

} // namespace

Rotary make_rotary(const RotaryOptions& options) {
    assert(options.rotated % 2 == 0 && options.base > 1 && options.factor > 0);
    assert(options.divisors.empty() || options.divisors.size() == options.rotated / 2);
    Rotary rotary{.inverse_frequencies = {}, .magnitude = options.attention_factor};
    for (std::size_t pair = 0; pair < options.rotated / 2; ++pair) {
        const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(options.rotated);
        const double divisor = options.divisors.empty() ? 1.0 : options.divisors[pair];
        const double unscaled = std::pow(options.base, exponent) / divisor;
        const double interpolated = unscaled / options.factor;
        const double share = options.yarn ? interpolated_share(pair, *options.yarn, options) : 1.0;
        rotary.inverse_frequencies.push_back(interpolated * share + unscaled * (1 - share));
    }
    if (options.yarn && options.factor > 1) {
        rotary.magnitude *= 0.1 * std::log(options.factor) + 1;
        rotary.magnitude /= 0.1 * options.yarn->log_multiplier * std::log(options.factor) + 1;
    }
    return rotary;
}

void rotate(std::span<double> head, uint32_t position, Pairing pairing, const Rotary& rotary) {
    const std::size_t pairs = rotary.inverse_frequencies.size();
    assert(2 * pairs <= head.size());
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        double& first = pairing == Pairing::adjacent ? head[2 * pair] : head[pair];
        double& second = pairing == Pairing::adjacent ? head[2 * pair + 1] : head[pair + pairs];
        const double angle = position * rotary.inverse_frequencies[pair];
        const double cosine = rotary.magnitude * std::cos(angle);
        const double sine = rotary.magnitude * std::sin(angle);
        const double a = first;
        const double b = second;
        first = a * cosine - b * sine;
        second = a * sine + b * cosine;
    }
}

void rotate_heads(std::span<double> heads, std::size_t head_length, uint32_t position, Pairing pairing,
                  const Rotary& rotary) {
    assert(head_length > 0 && heads.size() % head_length == 0);
    for (std::size_t start = 0; start < heads.size(); start += head_length)
        rotate(heads.subspan(start, head_length), position, pairing, rotary);
}

} // namespace etna::reference
