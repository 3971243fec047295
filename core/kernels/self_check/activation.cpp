#include "core/kernels/self_check/activation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace etna::kernels {

Bounded activated(Gate kind, double gate, double up) {
    if (kind == Gate::relu)
        return {std::max(gate, 0.0) * up, 2 * rounding * std::abs(gate * up)};
    if (kind == Gate::gelu_erf) { // the error function of the shader is wrong by up to 1.5e-7
        constexpr double erf_error = 1e-6;
        return {gate / 2 * (1 + std::erf(gate / std::numbers::sqrt2)) * up, erf_error * std::abs(gate * up)};
    }
    const bool is_clamped = kind == Gate::clamped_silu;
    const double x = is_clamped ? std::min(gate, 7.0) : gate;
    const double u = is_clamped ? std::clamp(up, -7.0, 7.0) + 1 : up;
    double z = is_clamped ? 1.702 * x : x;
    if (kind == Gate::gelu)
        z = 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    const double y = (kind == Gate::sigmoid ? 1 : x) / (1 + std::exp(-z));
    const double y_error = (16 + 16 * std::abs(z)) * rounding * std::abs(y);
    const double u_error = 4 * rounding * (std::abs(up) + 2);
    return {y * u, y_error * std::abs(u) + u_error * std::abs(y)};
}

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

double silu_tolerance(double x) {
    return (16 + 4 * std::abs(x)) * rounding;
}

} // namespace etna::kernels
