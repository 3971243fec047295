#include "tests/reference/mamba2.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace etna;
using namespace etna::reference;

namespace {

/// log(1 + exp(dt)) is 1.
const double unit_step = std::log(std::exp(1.0) - 1);

} // namespace

TEST_CASE("without decay a state sums the products of x and B, and C reads it") {
    Mamba2 mamba({.state_length = 2}, {0}, {0}, {0});
    CHECK(mamba.step(Vector{3, 1, 0, 1, 1}, Vector{unit_step})[0] == Approx(3));
    CHECK(mamba.step(Vector{5, 0, 2, 1, 0}, Vector{unit_step})[0] == Approx(3));
    CHECK(mamba.state()[1] == Approx(10));
}

TEST_CASE("a state decays by exp(step decay), and skip adds x") {
    Mamba2 mamba({}, {-2}, {1}, {7});
    mamba.step(Vector{1, 1, 1}, Vector{unit_step - 1});
    CHECK(mamba.step(Vector{0, 1, 1}, Vector{unit_step - 1})[0] == Approx(std::exp(-2.0)));
    CHECK(mamba.step(Vector{10, 0, 0}, Vector{unit_step - 1})[0] == Approx(70));
}

TEST_CASE("the heads of a group share its B and C") {
    Mamba2 mamba({.heads = 4, .groups = 2}, Vector(4, 0), Vector(4, 0), Vector(4, 0));
    // x of four heads, B of two groups, C of two groups
    const Vector y = mamba.step(Vector{1, 1, 1, 1, 2, 3, 5, 7}, Vector(4, unit_step));
    CHECK(y[0] == Approx(10));
    CHECK(y[1] == Approx(10));
    CHECK(y[2] == Approx(21));
    CHECK(y[3] == Approx(21));
}

TEST_CASE("Mamba 2's norm is of the gated values") {
    const Vector y = gate_first_rms_norm(Vector{3, -3}, Vector{1, 1}, Vector{1, 2}, 0);
    CHECK(y[0] == Approx(1));
    CHECK(y[1] == Approx(-2));
}
