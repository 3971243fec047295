#pragma once

#include "core/base/token.hpp"
#include "tests/reference/decode.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// The small operations of a transformer, each as its formula says, in double precision. Shapes are in
/// brackets. Sizes that do not fit together are broken preconditions and asserted.
namespace etna::reference {

using Vector = std::vector<double>;
using View = std::span<const double>;

/// Rows of `table` [vocabulary, width], one per token: [tokens, width]. Precondition: every token <
/// vocabulary.
Matrix embed(const Matrix& table, std::span<const TokenId> tokens);

/// y_i = x_i / sqrt(mean(x^2) + epsilon) * weight_i, all [width]. Zhang and Sennrich, arXiv 1910.07467.
Vector rms_norm(View x, View weight, double epsilon);

/// y_i = (x_i - mean(x)) / sqrt(variance(x) + epsilon) * weight_i + bias_i; an empty bias is 0. Ba et al.,
/// arXiv 1607.06450.
Vector layer_norm(View x, View weight, View bias, double epsilon);

/// Numbers rounded to binary16 after a power of two has brought the largest of them to [2^top, 2^(top + 1)).
Vector rounded_together(View x, int top = 0);

/// y = W x: [rows] from [rows, columns] and [columns].
Vector linear(const Matrix& weights, View x);

/// The same with what matrix units round away: each factor to binary16, the inputs together. Weights of type
/// F32 are not for matrix units: linear().
Vector linear_in_half(const Matrix& weights, View x);

/// y = a + b, element by element.
Vector add(View a, View b);

/// SwiGLU: silu(gate_i) * up_i with silu(z) = z / (1 + exp(-z)). Shazeer, arXiv 2002.05202.
Vector swiglu(View gate, View up);

/// gelu(gate_i) * up_i with gelu(z) = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))). Hendrycks and
/// Gimpel, arXiv 1606.08415.
Vector geglu(View gate, View up);

/// gelu(gate_i) * up_i with gelu(z) = z / 2 (1 + erf(z / sqrt(2))), the same paper.
Vector gelu_erf_glu(View gate, View up);

/// (u + 1) z / (1 + exp(-1.702 z)) with z = min(gate_i, 7), u = up_i kept within [-7, 7]. gpt-oss, arXiv
/// 2508.10925.
Vector clamped_swiglu(View gate, View up);

/// max(gate_i, 0) * up_i. Shazeer, arXiv 2002.05202.
Vector reglu(View gate, View up);

/// max(x_i, 0)^2. So et al., arXiv 2109.08668.
Vector squared_relu(View x);

/// x_i / (1 + exp(-gate_i)): the output gate of attention. Qiu et al., arXiv 2505.06708.
Vector sigmoid_gate(View gate, View x);

/// cap * tanh(x / cap). Gemma 2, arXiv 2408.00118.
double soft_cap(double x, double cap);

/// An expert and its share of a mixture.
struct ExpertShare {
    std::size_t expert = 0;
    double share = 0;
};

/// How router values become shares.
struct RoutingRule {
    bool is_normalised = true;  ///< the shares of a row have the sum 1, before `scale`
    bool is_sigmoid = false;    ///< scores are sigmoids instead of a softmax
    double scale = 1;           ///< of the shares
    Vector selection_bias = {}; ///< [experts], added to scores for the choice alone; or empty
    Vector expert_scales = {};  ///< [experts], multiply the shares at last (Gemma 4); or empty
    std::size_t groups = 1;     ///< of neighbouring experts; divides their number
    std::size_t groups_used =
        1; ///< the best, whose experts alone are chosen from; all if groups is not larger
};

/// The `used` largest scores, softmax(router) or 1 / (1 + exp(-router)), with selection_bias; smaller number
/// first among equals. Their shares are the scores without the bias. Precondition: 1 <= used <= size. Shazeer
/// et al., arXiv 1701.06538; Qwen3, arXiv 2505.09388; without normalisation Qwen2, arXiv 2407.10671; sigmoids
/// DeepSeek-V3, arXiv 2412.19437. A group is as good as its best expert (DeepSeek-V2, arXiv
/// 2405.04434, 2.2.2), with sigmoids as its two best together (DeepSeek-V3, 2.1.2).
std::vector<ExpertShare> choose_experts(View router, std::size_t used, const RoutingRule& rule = {});

/// sum_i share_i (outputs_i + bias of expert_i). `outputs` [chosen, width]; `biases` [experts, width], or
/// without rows: none.
Vector mix_experts(std::span<const ExpertShare> chosen, const Matrix& outputs, const Matrix& biases);

/// log(sum_i exp(x_i)), without overflow. -infinity entries count nothing. Precondition: not empty.
double log_sum_exp(View x);

/// x_i - log_sum_exp(x).
Vector log_softmax(View x);

/// exp(x_i) / sum_j exp(x_j), without overflow. Precondition: not empty, the largest is finite.
Vector softmax(View x);

struct Candidate {
    TokenId token = 0;
    double logit = 0;
    friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// The `count` largest logits (or all, if fewer), largest first; among equals the smaller token id first.
std::vector<Candidate> top_candidates(View logits, std::size_t count);

/// The token with the largest logit, the smallest id among equals. Precondition: not empty.
TokenId greedy_token(View logits);

} // namespace etna::reference
