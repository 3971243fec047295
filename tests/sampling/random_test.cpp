#include "core/sampling/parameters.hpp"
#include "core/sampling/random.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace etna::sampling {
namespace {

using Words = std::array<uint32_t, 4>;

// Test vectors of the authors' library Random123 (kat_vectors, "philox4x32 10").
TEST_CASE("philox4x32_10() matches the authors' test vectors") {
    CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
          Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform() takes the top 24 bits of the first word") {
    CHECK(uniform(0, 0) == static_cast<float>(0x6627e8) / 16777216.0F);
    CHECK(uniform(7, 3) == static_cast<float>(philox4x32_10({3, 0, 0, 0}, {7, 0})[0] >> 8) / 16777216.0F);
    CHECK(uniform(7, 3) != uniform(3, 7));
}

TEST_CASE("uniform() is uniform over [0, 1), over seeds and over positions") {
    constexpr uint32_t draws = 64000;
    constexpr uint32_t bins = 64;
    for (const bool over_seeds : {true, false}) {
        std::vector<double> counts(bins);
        for (uint32_t i = 0; i < draws; ++i) {
            const float number = over_seeds ? uniform(i, 5) : uniform(5, i);
            REQUIRE((number >= 0 && number < 1));
            counts[static_cast<uint32_t>(number * bins)] += 1;
        }
        const double expected = static_cast<double>(draws) / bins;
        double chi_squared = 0;
        for (const double count : counts)
            chi_squared += (count - expected) * (count - expected) / expected;
        INFO("over seeds: " << over_seeds << ", chi squared with 63 degrees of freedom: " << chi_squared);
        CHECK(chi_squared < 103.4); // 0.999 quantile
        CHECK(chi_squared > 32.5);  // 0.001 quantile: not too even either
    }
}

} // namespace
} // namespace etna::sampling
