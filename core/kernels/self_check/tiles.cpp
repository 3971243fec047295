#include "core/kernels/self_check/tiles.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/self_check/packed.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {

double tiles_error(const NoiseMatrices& weight, uint64_t row, std::span<const float> x) {
    const Bounded exact = product(weight, row, x);
    double largest = 0;
    for (const float one : x)
        largest = std::max(largest, std::abs(double{one}));
    double sizes = 0;
    for (std::size_t k = 0; k < x.size(); ++k)
        sizes += weight.sizes[row * x.size() + k];
    const double magnitudes = exact.tolerance / rounding / (static_cast<double>(x.size()) + 4);
    return 0x1p-11 * magnitudes + 0x1p-14 * largest * sizes;
}

double half_error(const NoiseMatrices& weight, uint64_t row, std::span<const float> x) {
    const Layout layout = weight.device.layout;
    const bool is_computed = layout.arrangement == Arrangement::tiles && block_columns(layout.format) > 1;
    double largest = 0;
    for (const float one : x)
        largest = std::max(largest, std::abs(double{one}));
    double error = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const double w = std::abs(weight.values[row * x.size() + k]);
        const double terms = 3 * weight.sizes[row * x.size() + k];
        const double w_error = (is_computed ? terms : w) * 0x1p-10 + 0x1p-24;
        const double x_error = std::abs(x[k]) * 0x1p-10 + largest * 0x1p-24;
        error += w * x_error + w_error * (std::abs(x[k]) + x_error);
    }
    return error;
}

uint32_t code_bytes_of(KernelRun& run, bool reads_codes) {
    return reads_codes ? code_bytes_at(run.library().target().precision) : 0;
}

Bounded tiles_product(const NoiseMatrices& weight, uint64_t row, std::span<const float> x,
                      uint32_t code_bytes) {
    if (code_bytes > 0) // integer sums are exact
        return product(weight, row, coded(packed_of(x), code_bytes));
    Bounded sum = product(weight, row, x);
    sum.tolerance += tiles_error(weight, row, x);
    return sum;
}

Bounded PendingInput::product(const NoiseMatrices& weight, uint64_t row, uint32_t c,
                              uint32_t code_bytes) const {
    const std::size_t columns = weight.device.columns;
    const std::span<const float> x = std::span(scaled).subspan(c * columns, columns);
    const Bounded sum = tiles_product(weight, row, x, code_bytes);
    const double factor = factors[c];
    // The factor is a sum of squares and an inverse square root (2 units): Vulkan, "Precision of GLSL
    // instructions".
    const double factor_error = (static_cast<double>(columns) + 8) * rounding;
    return {factor * sum.value, factor * (sum.tolerance + factor_error * std::abs(sum.value))};
}

PendingInput put_pending_input(KernelRun& run, Noise& noise, uint32_t rows, uint32_t columns) {
    constexpr float epsilon = 1e-3F;
    PendingInput input;
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> weight = noise.numbers(columns);
    std::vector<float> squares(x.size() / tile_columns);
    for (uint32_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (uint32_t k = 0; k < columns; ++k) {
            const std::size_t at = std::size_t{r} * columns + k;
            sum += double{x[at]} * x[at];
            squares[at / tile_columns] += x[at] * x[at];
            x[at] *= weight[k];
        }
        input.factors.push_back(1 / std::sqrt(sum / columns + epsilon));
    }
    input.rows = run.put_rows(x, rows, columns);
    input.rows.packed = run.put(packed_of(x));
    input.norm = {.squares = run.put(squares), .epsilon = epsilon};
    input.scaled = std::move(x);
    return input;
}

} // namespace etna::kernels
