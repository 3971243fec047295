#include "tests/reference/delta_net.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace etna;
using namespace etna::reference;

namespace {

double silu(double x) {
    return x / (1 + std::exp(-x));
}

/// One head of two keys and one value; alpha = 1 because decay is 0, beta = 1 because b is large.
DeltaNet plain_net() {
    return {{.key_length = 2}, {0}, {0}, 0};
}

constexpr double certain = 100;

} // namespace

TEST_CASE("the last weight of a convolution is for the token itself, and tokens before the first are zero") {
    const Matrix x{.rows = 3, .columns = 2, .values = {1, 10, 2, 20, 3, 30}};
    const Matrix weights{.rows = 2, .columns = 2, .values = {0.5, 1, -0.1, 0}};
    const Matrix y = short_convolution(x, weights, {});
    const Vector expected{silu(1), silu(0), silu(2.5), silu(-1), silu(4), silu(-2)};
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(y.values[i] == Approx(expected[i]).margin(1e-15));
}

TEST_CASE("a convolution adds its bias before the activation") {
    const Matrix x{.rows = 1, .columns = 1, .values = {2}};
    const Matrix weights{.rows = 1, .columns = 4, .values = {9, 9, 9, 3}};
    CHECK(short_convolution(x, weights, Vector{-1}).values[0] == Approx(silu(5)));
}

TEST_CASE("a gated convolution multiplies its inputs with b and its sums with c") {
    // Rows b, c, x of one channel.
    const Matrix bcx{.rows = 2, .columns = 3, .values = {2, 5, 3, -1, 7, 4}};
    const Matrix weights{.rows = 1, .columns = 2, .values = {0.5, 10}};
    CHECK(gated_short_convolution(bcx, weights, {}).values == Vector{5 * 60, 7 * (3 - 40)});
}

TEST_CASE("a gated norm multiplies the norm with silu of the gate") {
    const Vector y = gated_rms_norm(Vector{3, -3}, Vector{1, -2}, Vector{1, 2}, 0);
    CHECK(y[0] == Approx(silu(1)));
    CHECK(y[1] == Approx(-2 * silu(-2)));
}

TEST_CASE(
    "a delta net returns the value that was stored under a key, divided by the root of the key length") {
    DeltaNet net = plain_net();
    // q (3, 4) and k (0, 2) have lengths 5 and 2; S = v k^T / |k| = (0, 7)
    CHECK(net.step(Vector{3, 4, 0, 2, 7}, Vector{0}, Vector{certain})[0] == Approx(7 * 0.8 / std::sqrt(2.0)));
    CHECK(net.state() == Vector{0, 7});
    // a second value under the same key replaces the first
    net.step(Vector{1, 0, 0, 5, -1}, Vector{0}, Vector{certain});
    CHECK(net.state() == Vector{0, -1});
    // an orthogonal key leaves it
    net.step(Vector{1, 0, 1, 0, 4}, Vector{0}, Vector{certain});
    CHECK(net.state() == Vector{4, -1});
}

TEST_CASE("beta is the share of a value that is replaced") {
    DeltaNet net = plain_net();
    net.step(Vector{1, 0, 1, 0, 8}, Vector{0}, Vector{0}); // beta = 1/2
    CHECK(net.state()[0] == Approx(4));
    net.step(Vector{1, 0, 1, 0, 8}, Vector{0}, Vector{std::log(3.0)}); // beta = 3/4 of the difference 4
    CHECK(net.state()[0] == Approx(7));
}

TEST_CASE("the state decays before the new value is stored") {
    // softplus(log(exp(2) - 1)) = 2, so alpha = exp(-1/2 * 2)
    const double a = std::log(std::exp(2.0) - 1);
    DeltaNet net({.key_length = 2}, {-0.5}, {1}, 0);
    net.step(Vector{1, 0, 1, 0, 8}, Vector{0}, Vector{certain});
    net.step(Vector{1, 0, 0, 1, 6}, Vector{a - 1}, Vector{certain});
    CHECK(net.state()[0] == Approx(8 * std::exp(-1.0)));
    CHECK(net.state()[1] == Approx(6));
}

TEST_CASE("value heads find their key head by division or by remainder") {
    for (const bool is_tiled : {false, true}) {
        DeltaNet net({.key_heads = 2, .value_heads = 4, .is_tiled = is_tiled}, Vector(4), Vector(4), 0);
        // keys of length one are 1 or -1: the sign of each state shows its key
        net.step(Vector{1, 1, 1, -1, 5, 5, 5, 5}, Vector(4), Vector(4, certain));
        CHECK(net.state() == (is_tiled ? Vector{5, -5, 5, -5} : Vector{5, 5, -5, -5}));
    }
}

TEST_CASE("epsilon is added to the sum of squares of a key") {
    DeltaNet net({}, {0}, {0}, 3);
    net.step(Vector{1, 1, 6}, Vector{0}, Vector{certain}); // k = 1 / sqrt(1 + 3)
    CHECK(net.state()[0] == Approx(3));
}
