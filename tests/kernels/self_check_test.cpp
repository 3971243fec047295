#include "core/kernels/self_check.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>

using namespace etna;
using namespace etna::test;

TEST_CASE("every kernel of the device passes its check, under every family") {
    for (const auto family : {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd, kernels::PlanFamily::intel,
                              kernels::PlanFamily::lavapipe}) {
        const auto start = std::chrono::steady_clock::now();
        const auto cpu = std::clock();
        const auto verdict = kernels::self_check(gpu().device, {.family = family});
        std::printf("%s %.0f ms wall, %.0f ms cpu\n", std::string(to_string(family)).c_str(), std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(), 1000.0 * (std::clock() - cpu) / CLOCKS_PER_SEC);
        REQUIRE(verdict.has_value());
        CHECK(verdict->wrong.names() == std::vector<std::string_view>{});
        CHECK(verdict->right.size() > 50);
    }
}
