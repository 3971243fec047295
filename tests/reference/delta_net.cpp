#include "tests/reference/delta_net.hpp"

#include <cassert>
#include <cmath>
#include <utility>

namespace etna::reference {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

double silu(double x) {
    return x * sigmoid(x);
}

double dot(View a, View b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

Vector with_length_one(View x, double epsilon) {
    const double length = std::sqrt(dot(x, x) + epsilon);
    Vector y(x.begin(), x.end());
    for (double& one : y)
        one /= length;
    return y;
}

/// Causal, of each channel over the tokens.
Matrix convolution(const Matrix& x, const Matrix& weights, View bias) {
    assert(weights.rows == x.columns && (bias.empty() || bias.size() == x.columns));
    const std::size_t width = weights.columns;
    Matrix y{.rows = x.rows, .columns = x.columns};
    for (std::size_t t = 0; t < x.rows; ++t) {
        for (std::size_t c = 0; c < x.columns; ++c) {
            double sum = bias.empty() ? 0 : bias[c];
            for (std::size_t d = 0; d < width; ++d) {
                if (t + d + 1 >= width)
                    sum += weights.row(c)[d] * x.row(t + d + 1 - width)[c];
            }
            y.values.push_back(sum);
        }
    }
    return y;
}

} // namespace

Matrix short_convolution(const Matrix& x, const Matrix& weights, View bias) {
    Matrix y = convolution(x, weights, bias);
    for (double& one : y.values)
        one = silu(one);
    return y;
}

Matrix gated_short_convolution(const Matrix& bcx, const Matrix& weights, View bias) {
    const std::size_t channels = weights.rows;
    assert(channels > 0 && bcx.columns == 3 * channels);
    Matrix product{.rows = bcx.rows, .columns = channels};
    for (std::size_t t = 0; t < bcx.rows; ++t) {
        for (std::size_t c = 0; c < channels; ++c)
            product.values.push_back(bcx.row(t)[c] * bcx.row(t)[2 * channels + c]);
    }
    Matrix y = convolution(product, weights, bias);
    for (std::size_t i = 0; i < y.values.size(); ++i)
        y.values[i] *= bcx.row(i / channels)[channels + i % channels];
    return y;
}

Vector gated_rms_norm(View x, View gate, View weight, double epsilon) {
    assert(x.size() == gate.size());
    Vector y = rms_norm(x, weight, epsilon);
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] *= silu(gate[i]);
    return y;
}

DeltaNet::DeltaNet(const DeltaHeads& heads, Vector decay, Vector dt_bias, double epsilon)
    : heads_(heads), decay_(std::move(decay)), dt_bias_(std::move(dt_bias)), epsilon_(epsilon),
      state_(heads.value_heads * heads.value_length * heads.key_length, 0.0) {
    assert(heads.value_heads % heads.key_heads == 0);
    assert(decay_.size() == heads.value_heads && dt_bias_.size() == heads.value_heads);
}

Vector DeltaNet::step(View qkv, View a, View b) {
    const auto [key_heads, value_heads, key_length, value_length, is_tiled] = heads_;
    assert(qkv.size() == 2 * key_heads * key_length + value_heads * value_length);
    const View keys = qkv.subspan(key_heads * key_length);
    const View values = qkv.subspan(2 * key_heads * key_length);
    Vector output;
    for (std::size_t h = 0; h < value_heads; ++h) {
        const std::size_t key_head = is_tiled ? h % key_heads : h / (value_heads / key_heads);
        Vector q = with_length_one(qkv.subspan(key_head * key_length, key_length), epsilon_);
        for (double& one : q)
            one /= std::sqrt(static_cast<double>(key_length));
        const Vector k = with_length_one(keys.subspan(key_head * key_length, key_length), epsilon_);
        const double alpha = std::exp(decay_[h] * std::log1p(std::exp(a[h] + dt_bias_[h])));
        for (std::size_t j = 0; j < value_length; ++j) {
            const std::span row = std::span(state_).subspan((h * value_length + j) * key_length, key_length);
            for (double& one : row)
                one *= alpha;
            const double d = sigmoid(b[h]) * (values[h * value_length + j] - dot(row, k));
            for (std::size_t i = 0; i < key_length; ++i)
                row[i] += d * k[i];
            output.push_back(dot(row, q));
        }
    }
    return output;
}

} // namespace etna::reference
