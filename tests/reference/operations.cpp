#include "tests/reference/operations.hpp"

#include "tests/reference/decode.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numbers>

namespace etna::reference {

Matrix embed(const Matrix& table, std::span<const TokenId> tokens) {
    Matrix rows{.rows = tokens.size(), .columns = table.columns};
    for (const TokenId token : tokens) {
        assert(token < table.rows);
        const View row = table.row(token);
        rows.values.insert(rows.values.end(), row.begin(), row.end());
    }
    return rows;
}

Vector rms_norm(View x, View weight, double epsilon) {
    assert(x.size() == weight.size() && !x.empty());
    double sum_of_squares = 0;
    for (const double value : x)
        sum_of_squares += value * value;
    const double divisor = std::sqrt(sum_of_squares / static_cast<double>(x.size()) + epsilon);
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = x[i] / divisor * weight[i];
    return y;
}

Vector linear(const Matrix& weights, View x) {
    assert(x.size() == weights.columns);
    Vector y(weights.rows);
    for (std::size_t row = 0; row < weights.rows; ++row) {
        const View w = weights.row(row);
        double sum = 0;
        for (std::size_t column = 0; column < x.size(); ++column)
            sum += w[column] * x[column];
        y[row] = sum;
    }
    return y;
}

Vector layer_norm(View x, View weight, View bias, double epsilon) {
    const auto count = static_cast<double>(x.size());
    double mean = 0;
    for (const double one : x)
        mean += one / count;
    double variance = 0;
    for (const double one : x)
        variance += (one - mean) * (one - mean) / count;
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] + (bias.empty() ? 0 : bias[i]);
    return y;
}

Vector rounded_together(View x, int top) {
    double largest = 0;
    for (const double value : x)
        largest = std::max(largest, std::abs(value));
    const int exponent = (largest > 0 ? std::ilogb(largest) : 0) - top;
    Vector rounded;
    for (const double value : x)
        rounded.push_back(std::ldexp(round_to_half(std::ldexp(value, -exponent)), exponent));
    return rounded;
}

Vector linear_in_half(const Matrix& weights, View x) {
    if (weights.type == gguf::TensorType::f32)
        return linear(weights, x);
    constexpr std::size_t tile_columns = 256; // matrices of other widths are not in tiles
    constexpr int top_in_tiles = 14;
    Matrix rounded = weights;
    if (weights.columns % tile_columns == 0 && !weights.in_half.empty()) {
        rounded.values = weights.in_half;
        return linear(rounded, rounded_together(x, top_in_tiles));
    }
    std::transform(rounded.values.begin(), rounded.values.end(), rounded.values.begin(), round_to_half);
    return linear(rounded, rounded_together(x));
}

Vector add(View a, View b) {
    assert(a.size() == b.size());
    Vector y(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        y[i] = a[i] + b[i];
    return y;
}

Vector swiglu(View gate, View up) {
    assert(gate.size() == up.size());
    Vector y(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i)
        y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    return y;
}

Vector geglu(View gate, View up) {
    assert(gate.size() == up.size());
    Vector y(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i) {
        const double z = gate[i];
        const double inner = std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z);
        y[i] = z / 2 * (1 + std::tanh(inner)) * up[i];
    }
    return y;
}

Vector reglu(View gate, View up) {
    assert(gate.size() == up.size());
    Vector y;
    for (std::size_t i = 0; i < gate.size(); ++i)
        y.push_back(std::max(gate[i], 0.0) * up[i]);
    return y;
}

Vector squared_relu(View x) {
    Vector y;
    for (const double one : x)
        y.push_back(one > 0 ? one * one : 0);
    return y;
}

Vector sigmoid_gate(View gate, View x) {
    assert(gate.size() == x.size());
    Vector y(x.begin(), x.end());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] /= 1 + std::exp(-gate[i]);
    return y;
}

Vector gelu_erf_glu(View gate, View up) {
    assert(gate.size() == up.size());
    Vector y(gate.size());
    for (std::size_t i = 0; i < gate.size(); ++i)
        y[i] = gate[i] / 2 * (1 + std::erf(gate[i] / std::numbers::sqrt2)) * up[i];
    return y;
}

Vector clamped_swiglu(View gate, View up) {
    assert(gate.size() == up.size());
    constexpr double limit = 7;
    Vector y;
    for (std::size_t i = 0; i < gate.size(); ++i) {
        const double z = std::min(gate[i], limit);
        const double sigmoid = 1 / (1 + std::exp(-1.702 * z));
        y.push_back((std::clamp(up[i], -limit, limit) + 1) * z * sigmoid);
    }
    return y;
}

double soft_cap(double x, double cap) {
    return cap * std::tanh(x / cap);
}

namespace {

/// Scores with -infinity for experts outside the best groups.
Vector within_best_groups(Vector scores, const RoutingRule& rule) {
    const std::size_t size = scores.size() / rule.groups;
    assert(size * rule.groups == scores.size());
    Vector worth;
    for (std::size_t group = 0; group < rule.groups; ++group) {
        Vector members(scores.begin() + static_cast<std::ptrdiff_t>(group * size),
                       scores.begin() + static_cast<std::ptrdiff_t>((group + 1) * size));
        std::sort(members.begin(), members.end(), std::greater<>());
        worth.push_back(members[0] + (rule.is_sigmoid && size > 1 ? members[1] : 0));
    }
    std::vector<bool> is_kept(rule.groups, false);
    for (const Candidate& best : top_candidates(worth, rule.groups_used))
        is_kept[best.token] = true;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!is_kept[i / size])
            scores[i] = -INFINITY;
    }
    return scores;
}

} // namespace

std::vector<ExpertShare> choose_experts(View router, std::size_t used, const RoutingRule& rule) {
    assert(used >= 1 && used <= router.size());
    Vector scores = softmax(router);
    if (rule.is_sigmoid) {
        for (std::size_t i = 0; i < scores.size(); ++i)
            scores[i] = 1 / (1 + std::exp(-router[i]));
    }
    Vector ranked = rule.selection_bias.empty() ? scores : add(scores, rule.selection_bias);
    if (rule.groups > rule.groups_used)
        ranked = within_best_groups(std::move(ranked), rule);
    std::vector<ExpertShare> chosen;
    double sum = 0;
    for (const Candidate& best : top_candidates(ranked, used)) {
        chosen.push_back({.expert = best.token, .share = scores[best.token]});
        sum += scores[best.token];
    }
    for (ExpertShare& one : chosen)
        one.share *= rule.scale / (rule.is_normalised ? sum : 1);
    for (ExpertShare& one : chosen)
        one.share *= rule.expert_scales.empty() ? 1 : rule.expert_scales[one.expert];
    return chosen;
}

Vector mix_experts(std::span<const ExpertShare> chosen, const Matrix& outputs, const Matrix& biases) {
    assert(outputs.rows == chosen.size());
    Vector sum(outputs.columns, 0.0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        for (std::size_t k = 0; k < sum.size(); ++k) {
            const double bias = biases.rows == 0 ? 0 : biases.row(chosen[i].expert)[k];
            sum[k] += chosen[i].share * (outputs.row(i)[k] + bias);
        }
    }
    return sum;
}

double log_sum_exp(View x) {
    assert(!x.empty());
    const double largest = *std::max_element(x.begin(), x.end());
    if (std::isinf(largest)) // all -infinity, or one +infinity: subtracting it would give NaN
        return largest;
    double sum = 0;
    for (const double value : x)
        sum += std::exp(value - largest);
    return largest + std::log(sum);
}

Vector log_softmax(View x) {
    const double total = log_sum_exp(x);
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = x[i] - total;
    return y;
}

Vector softmax(View x) {
    assert(!x.empty());
    const double largest = *std::max_element(x.begin(), x.end());
    Vector y(x.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = std::exp(x[i] - largest);
        sum += y[i];
    }
    for (double& value : y)
        value /= sum;
    return y;
}

std::vector<Candidate> top_candidates(View logits, std::size_t count) {
    std::vector<Candidate> candidates;
    candidates.reserve(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
        candidates.push_back({.token = static_cast<TokenId>(i), .logit = logits[i]});
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
    });
    candidates.resize(std::min(count, candidates.size()));
    return candidates;
}

TokenId greedy_token(View logits) {
    assert(!logits.empty());
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

} // namespace etna::reference
