#pragma once

// Catch2 2 has one header, Catch2 3 has many; the macros and matchers that tests use are the same in both.
#if ETNA_CATCH_MAJOR == 2
#include <string>

#include <catch2/catch.hpp>

namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& part) {
    return Contains(part);
}
} // namespace Catch::Matchers
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif
