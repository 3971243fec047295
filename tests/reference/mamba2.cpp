#include "tests/reference/mamba2.hpp"

#include <cassert>
#include <cmath>
#include <utility>

namespace etna::reference {

Vector gate_first_rms_norm(View x, View gate, View weight, double epsilon) {
    assert(x.size() == gate.size());
    return rms_norm(swiglu(gate, x), weight, epsilon);
}

Mamba2::Mamba2(const Mamba2Heads& heads, Vector decay, Vector dt_bias, Vector skip)
    : heads_(heads), decay_(std::move(decay)), dt_bias_(std::move(dt_bias)), skip_(std::move(skip)),
      state_(heads.heads * heads.head_length * heads.state_length, 0.0) {
    assert(heads.heads % heads.groups == 0);
    assert(decay_.size() == heads.heads && dt_bias_.size() == heads.heads && skip_.size() == heads.heads);
}

Vector Mamba2::step(View xbc, View dt) {
    const auto [heads, groups, head_length, state_length] = heads_;
    assert(xbc.size() == heads * head_length + 2 * groups * state_length && dt.size() == heads);
    Vector y;
    for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t group = h / (heads / groups);
        const View b = xbc.subspan(heads * head_length + group * state_length, state_length);
        const View c = xbc.subspan(heads * head_length + (groups + group) * state_length, state_length);
        const double step = std::log1p(std::exp(dt[h] + dt_bias_[h]));
        for (std::size_t p = 0; p < head_length; ++p) {
            const double x = xbc[h * head_length + p];
            double sum = skip_[h] * x;
            for (std::size_t n = 0; n < state_length; ++n) {
                double& s = state_[(h * head_length + p) * state_length + n];
                s = std::exp(step * decay_[h]) * s + step * x * b[n];
                sum += s * c[n];
            }
            y.push_back(sum);
        }
    }
    return y;
}

} // namespace etna::reference
