#include "core/kernels/self_check/heads.hpp"

#include <cmath>

namespace etna::kernels {
namespace {

/// x / sqrt(mean(x^2) + epsilon) * norm.
std::vector<Bounded> normalised(const std::vector<Bounded>& head, std::span<const float> norm,
                                float epsilon) {
    const auto size = static_cast<double>(head.size());
    double squares = 0;
    double squares_tolerance = 0;
    for (const auto& [value, tolerance] : head) {
        squares += value * value;
        squares_tolerance += (2 * std::abs(value) + tolerance) * tolerance;
    }
    const double mean = squares / size + double{epsilon};
    const double factor = 1 / std::sqrt(mean);
    const double factor_error = squares_tolerance / size / mean + (size + 16) * rounding; // relative
    std::vector<Bounded> result;
    for (std::size_t d = 0; d < head.size(); ++d) {
        const double y = head[d].value * factor * norm[d];
        result.push_back({y, head[d].tolerance * factor * std::abs(norm[d]) + factor_error * std::abs(y)});
    }
    return result;
}

} // namespace

std::vector<Bounded> turned(const TurnedHead& how, const std::vector<Bounded>& head,
                            std::span<const float> norm, std::span<const float> angles) {
    const std::vector<Bounded> x = how.norms ? normalised(head, norm, how.epsilon) : head;
    std::vector<Bounded> result = x;
    for (uint32_t p = 0; p < how.rotated / 2; ++p) {
        const uint32_t i = how.pairs == RotaryPairs::halves ? p : 2 * p;
        const uint32_t j = how.pairs == RotaryPairs::halves ? p + how.rotated / 2 : 2 * p + 1;
        const double cosine = angles[std::size_t{2} * p];
        const double sine = angles[std::size_t{2} * p + 1];
        const double tolerance =
            x[i].tolerance + x[j].tolerance + 4 * rounding * (std::abs(x[i].value) + std::abs(x[j].value));
        result[i] = {x[i].value * cosine - x[j].value * sine, tolerance};
        result[j] = {x[i].value * sine + x[j].value * cosine, tolerance};
    }
    return result;
}

Bounded warmed(const TurnedHead& how, Bounded element, uint32_t position) {
    const uint32_t periods = position / how.temperature_tokens;
    const double factor = 1 + double{how.temperature_scale} * std::log(1.0 + periods);
    const double y = element.value * factor;
    return {y, element.tolerance * factor + 16 * rounding * std::abs(y)};
}

} // namespace etna::kernels
