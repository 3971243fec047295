#include "tests/reference/cache_element.hpp"
#include "tests/reference/decode.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace etna::reference;

TEST_CASE("Q8_0 stores 32 elements of a head to within half a step of their scale") {
    Vector heads;
    for (int i = 0; i < 2 * 40; ++i) // two heads of a block and a quarter, each block of another size
        heads.push_back(std::ldexp(std::sin(i * 1.7), i / 20));
    const Vector rounded = stored(heads, CacheElement::q8_0, 40);
    REQUIRE(rounded.size() == heads.size());
    for (std::size_t head = 0; head < 80; head += 40) {
        for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, 32}, {32, 40}}) {
            double largest = 0;
            for (std::size_t i = head + first; i < head + last; ++i)
                largest = std::max(largest, std::fabs(heads[i]));
            const double scale = round_to_half(largest / 127);
            for (std::size_t i = head + first; i < head + last; ++i) {
                CHECK(std::fabs(rounded[i] - heads[i]) <= scale * 0.57);
                CHECK(rounded[i] / scale == std::round(rounded[i] / scale));
            }
        }
    }
}

TEST_CASE("Q8_0 stores zeros and representable values exactly") {
    CHECK(stored(Vector(33, 0.0), CacheElement::q8_0, 33) == Vector(33, 0.0));
    const Vector exact{-127 * 0.25, 0.25, 0.5, 31.75};
    CHECK(stored(exact, CacheElement::q8_0, 4) == exact);
}
