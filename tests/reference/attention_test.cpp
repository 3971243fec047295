#include "tests/reference/attention.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>

using namespace etna;
using namespace etna::reference;

TEST_CASE("one entry gives its value, whatever the score") {
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 2};
    CHECK(attention(shape, Vector{3, -100}, Vector{50, 2}, Vector{7, 8}, {0, 1}) == Vector{7, 8});
}

TEST_CASE("a zero query gives the mean of the entries in range") {
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 1};
    const Vector keys{1, 2, 3, 4};
    const Vector values{10, 20, 60, 1e9};
    CHECK(attention(shape, Vector{0}, keys, values, {0, 1})[0] == Approx(10.0).epsilon(1e-14));
    CHECK(attention(shape, Vector{0}, keys, values, {0, 2})[0] == Approx(15.0).epsilon(1e-14));
    CHECK(attention(shape, Vector{0}, keys, values, {0, 3})[0] == Approx(30.0).epsilon(1e-14));
}

TEST_CASE("scores are scaled by the root of the head length") {
    // q . k = 4 ln 3 and 0; over sqrt(4): 2 ln 3 = ln 9 and 0. The weights are 9/10 and 1/10.
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 4};
    const Vector query(4, std::log(3.0));
    const Vector keys{1, 1, 1, 1, 0, 0, 0, 0};
    const Vector values{1, 0, 0, 10, 0, 1, 0, 20};
    const Vector y = attention(shape, query, keys, values, {0, 2});
    CHECK(y[0] == Approx(0.9).epsilon(1e-14));
    CHECK(y[1] == Approx(0.1).epsilon(1e-14));
    CHECK(y[2] == 0.0);
    CHECK(y[3] == Approx(11.0).epsilon(1e-14));
}

TEST_CASE("adjacent query heads share a key and value head") {
    const AttentionShape shape{.heads = 4, .kv_heads = 2, .head_length = 1};
    // Two entries of two kv heads; scores ln 3 and 0 (weights 3/4, 1/4) for query ln 3, equal for query 0.
    const Vector keys{1, 0, 0, 1};
    const Vector values{4, 100, 8, 200};
    const Vector y = attention(shape, Vector{0, std::log(3.0), 0, std::log(3.0)}, keys, values, {0, 2});
    CHECK(y[0] == Approx(6.0).epsilon(1e-14));
    CHECK(y[1] == Approx(5.0).epsilon(1e-14));
    CHECK(y[2] == Approx(150.0).epsilon(1e-14));
    CHECK(y[3] == Approx(175.0).epsilon(1e-14));
}

TEST_CASE("entries outside the range are ignored") {
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 1};
    const Vector keys{1, 2, 3, 4};
    const Vector values{10, 20, 60, 70};
    CHECK(attention(shape, Vector{0}, keys, values, {2, 4})[0] == Approx(65.0).epsilon(1e-14));
    CHECK(attention(shape, Vector{0}, keys, values, {3, 4})[0] == Approx(70.0).epsilon(1e-14));
    CHECK(attention(shape, Vector{0}, keys, values, {1, 3})[0] == Approx(40.0).epsilon(1e-14));
}

TEST_CASE("the order of entries does not matter, and huge scores do not overflow") {
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 1};
    const Vector forward = attention(shape, Vector{900}, Vector{1, 1.001, 0.5}, Vector{2, 3, 4}, {0, 3});
    const Vector backward = attention(shape, Vector{900}, Vector{0.5, 1.001, 1}, Vector{4, 3, 2}, {0, 3});
    const double expected = (2 + 3 * std::exp(0.9)) / (1 + std::exp(0.9)); // the third is smaller by e^-450
    CHECK(forward[0] == Approx(expected).epsilon(1e-11));
    CHECK(backward[0] == Approx(expected).epsilon(1e-11));
}

TEST_CASE("a sink takes its share of the softmax and has no value") {
    const AttentionShape shape{.heads = 2, .kv_heads = 1, .head_length = 1};
    const Vector keys{1, 1, 5};
    const Vector values{6, 12, 1e9};
    // Head 0: scores ln 2 and ln 2, sink 0: weights 2/5, 2/5 and 1/5. Head 1: scores 0 and 0, sink ln 4:
    // weights 1/6, 1/6 and 4/6.
    const Vector query{std::log(2.0), 0};
    const Vector y = attention(shape, query, keys, values, {0, 2}, Vector{0, std::log(4.0)});
    CHECK(y[0] == Approx(7.2).epsilon(1e-14));
    CHECK(y[1] == Approx(3.0).epsilon(1e-14));
}

TEST_CASE("a sink is neither scaled nor capped; one of -infinity takes nothing, a huge one everything") {
    const AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 1, .scale = 100, .soft_cap = 0.001};
    const auto y = [&](double sink) {
        return attention(shape, Vector{0}, Vector{3}, Vector{10}, {0, 1}, Vector{sink})[0];
    };
    CHECK(y(std::log(4.0)) == Approx(2.0).epsilon(1e-14));
    CHECK(y(-std::numeric_limits<double>::infinity()) == 10.0);
    CHECK(y(1e6) == 0.0);
}

TEST_CASE("matrix units round queries together, and weights by the largest score of the tiles until then") {
    AttentionShape shape{.heads = 1, .kv_heads = 1, .head_length = 2, .scale = 1, .in_half = true};
    // 1 + 2^-12 is 1 in binary16; 2^-26 next to it is below half of the smallest number.
    const Vector keys{0x1p12, 0x1p25};
    const double score = 0x1p12 + 3;
    const auto y = [&](const AttentionShape& one) {
        return attention(one, Vector{1 + 0x1p-12, 0x1p-26}, keys, Vector{1, 0}, {0, 1}, Vector{score})[0];
    };
    CHECK(y(shape) == Approx(1 / (1 + std::exp(3.0))).epsilon(0x1p-11)); // the weight is rounded too
    shape.in_half = false;
    CHECK(y(shape) == Approx(1 / (1 + std::exp(1.5))).epsilon(1e-12));
    // The weights exp(-0.3) and exp(0) of the second tile are rounded as such; exp(-20) of the first is 1
    // then.
    const AttentionShape tiled{.heads = 1, .kv_heads = 1, .head_length = 1, .scale = 1, .in_half = true};
    Vector entries(34, -20);
    entries[32] = -0.3;
    entries[33] = 0;
    Vector values(34, 0);
    values[0] = 1e8;
    values[32] = 1;
    const double rounded = 1517.0 / 2048; // exp(-0.3)
    const double total = 1 + std::exp(-0.3) + 32 * std::exp(-20.0);
    CHECK(attention(tiled, Vector{1}, entries, values, {0, 34})[0] ==
          Approx((rounded + 1e8 * std::exp(-20.0)) / total).epsilon(1e-12));
}
