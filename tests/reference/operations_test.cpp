#include "tests/reference/operations.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::reference;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double sum_of(View values) {
    double total = 0;
    for (const double value : values)
        total += value;
    return total;
}

} // namespace

TEST_CASE("embedding picks rows, also the same one twice") {
    const Matrix table{.rows = 3, .columns = 2, .values = {1, 2, 3, 4, 5, 6}};
    const std::vector<TokenId> tokens{2, 0, 2};
    CHECK(embed(table, tokens).values == Vector{5, 6, 1, 2, 5, 6});
}

TEST_CASE("the norm of a constant is its sign, times the weight") {
    const Vector y = rms_norm(Vector{-3, -3, -3, -3}, Vector{1, 2, 3, 4}, 0);
    CHECK(y == Vector{-1, -2, -3, -4});
}

TEST_CASE("the norm adds epsilon to the mean square, inside the root") {
    // mean square (9 + 16) / 2 = 12.5; with 3.5 more its root is 4
    const Vector y = rms_norm(Vector{3, 4}, Vector{1, 1}, 3.5);
    CHECK(y[0] == Approx(0.75).epsilon(1e-15));
    CHECK(y[1] == Approx(1.0).epsilon(1e-15));
}

TEST_CASE("a normalised vector has mean square one, whatever its scale") {
    const Vector ones(5, 1.0);
    const Vector small = rms_norm(Vector{1, -2, 3, 0.5, 7}, ones, 0);
    const Vector large = rms_norm(Vector{1e6, -2e6, 3e6, 0.5e6, 7e6}, ones, 0);
    double squares = 0;
    for (std::size_t i = 0; i < small.size(); ++i) {
        CHECK(small[i] == Approx(large[i]).epsilon(1e-14));
        squares += small[i] * small[i];
    }
    CHECK(squares / 5 == Approx(1.0).epsilon(1e-14));
}

TEST_CASE("linear multiplies each row with the vector") {
    const Matrix weights{.rows = 2, .columns = 3, .values = {1, 2, 3, -1, 0, 4}};
    CHECK(linear(weights, Vector{2, -1, 0.5}) == Vector{1.5, 0});
}

TEST_CASE("residuals add") {
    CHECK(add(Vector{1, 2}, Vector{0.5, -4}) == Vector{1.5, -2});
}

TEST_CASE("swiglu follows its formula at points known by hand and in the limits") {
    const double third = -std::log(2.0); // 1 / (1 + exp(ln 2)) = 1 / 3
    const Vector y = swiglu(Vector{0, third, 800, -800}, Vector{5, 3, 2, 2});
    CHECK(y[0] == 0.0);
    CHECK(y[1] == Approx(third).epsilon(1e-15));
    CHECK(y[2] == 1600.0);
    CHECK(y[3] == 0.0);
}

TEST_CASE("clamped swiglu follows its formula at points known by hand and beyond its limits") {
    const double third = -std::log(2.0) / 1.702; // sigmoid(1.702 third) = 1 / 3
    const double seven = 7 / (1 + std::exp(-11.914));
    const Vector y = clamped_swiglu(Vector{0, third, third, 7, 900, 900, -900, third},
                                    Vector{5, 0, 5, 0, 0, 900, 2, -900});
    CHECK(y[0] == 0.0);
    CHECK(y[1] == Approx(third / 3).epsilon(1e-14));
    CHECK(y[2] == Approx(2 * third).epsilon(1e-14));
    CHECK(y[3] == Approx(seven).epsilon(1e-14));
    CHECK(y[4] == Approx(seven).epsilon(1e-14));
    CHECK(y[5] == Approx(8 * seven).epsilon(1e-14));
    CHECK(y[6] == 0.0);
    CHECK(y[7] == Approx(-2 * third).epsilon(1e-14));
}

TEST_CASE("a sigmoid gate passes nothing, a part or everything") {
    const Vector y = sigmoid_gate(Vector{0, -std::log(2.0), 800, -800}, Vector{5, 3, -2, 2});
    CHECK(y[0] == 2.5);
    CHECK(y[1] == Approx(1).epsilon(1e-15));
    CHECK(y[2] == -2.0);
    CHECK(y[3] == 0.0);
}

TEST_CASE("experts are mixed by their shares, each with its own bias") {
    const std::vector<ExpertShare> chosen{{.expert = 2, .share = 0.75}, {.expert = 0, .share = 0.25}};
    const Matrix outputs{.rows = 2, .columns = 2, .values = {4, 8, 12, -4}};
    CHECK(mix_experts(chosen, outputs, {}) == Vector{6, 5});
    const Matrix biases{.rows = 3, .columns = 2, .values = {100, 200, 1e9, 1e9, 4, 8}};
    CHECK(mix_experts(chosen, outputs, biases) == Vector{34, 61});
}

TEST_CASE("log-sum-exp of equal logits is the logit plus the log of their number, however large they are") {
    CHECK(log_sum_exp(Vector{7}) == 7.0);
    CHECK(log_sum_exp(Vector{1000, 1000, 1000}) == Approx(1000 + std::log(3.0)).epsilon(1e-15));
    CHECK(log_sum_exp(Vector{-1000, -1000}) == Approx(-1000 + std::log(2.0)).epsilon(1e-15));
    CHECK(log_sum_exp(Vector{-infinite, 2}) == 2.0);
    CHECK(log_sum_exp(Vector{-infinite, -infinite}) == -infinite);
}

TEST_CASE("softmax sums to one, does not see a constant, and log-softmax is its logarithm") {
    const Vector x{0.5, -3, 2, 2, 800, 799};
    Vector shifted = x;
    for (double& value : shifted)
        value -= 123;
    const Vector p = softmax(x);
    const Vector q = softmax(shifted);
    const Vector logs = log_softmax(x);
    CHECK(sum_of(p) == Approx(1.0).epsilon(1e-14));
    for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(i);
        CHECK(p[i] == Approx(q[i]).epsilon(1e-12));
        CHECK(std::exp(logs[i]) == Approx(p[i]).epsilon(1e-12));
    }
    CHECK(p[4] == Approx(1 / (1 + std::exp(-1.0))).epsilon(1e-12)); // against its only rival, 799
}

TEST_CASE("candidates are in descending order of logit, equal ones in ascending order of id") {
    const Vector logits{1, 5, 2, 5, -infinite, 5, 2};
    const std::vector<Candidate> expected{{1, 5.0}, {3, 5.0}, {5, 5.0}, {2, 2.0}, {6, 2.0}};
    CHECK(top_candidates(logits, 5) == expected);
    CHECK(top_candidates(logits, 2) == std::vector<Candidate>{{1, 5.0}, {3, 5.0}});
    CHECK(top_candidates(logits, 0).empty());
    CHECK(top_candidates(logits, 100).size() == 7);
    CHECK(greedy_token(logits) == 1);
}
