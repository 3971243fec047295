#include "core/runtime/devices.hpp"
#include "tests/support/catch.hpp"

using namespace etna;
using namespace etna::runtime;

namespace {

std::vector<std::string> names(const std::vector<Shortfall>& shortfalls) {
    std::vector<std::string> result;
    for (const Shortfall& one : shortfalls) {
        CHECK_FALSE(one.effect.empty());
        CHECK_FALSE(one.remedy.empty());
        result.push_back(one.what);
    }
    return result;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("the shortfalls of a device follow from its profile") {
    vk::DeviceProfile gpu;
    gpu.type = vk::DeviceType::discrete;
    gpu.vendor = vk::Vendor::amd;
    gpu.subgroup_arithmetic = gpu.memory_budget = true;
    CHECK(names(shortfalls_of(gpu)).empty());
    gpu.memory_budget = false;
    CHECK(names(shortfalls_of(gpu)) == Names{"memory budget"});
    gpu.subgroup_arithmetic = false;
    CHECK(names(shortfalls_of(gpu)) == Names{"subgroup arithmetic", "memory budget"});

    vk::DeviceProfile cpu;
    cpu.type = vk::DeviceType::cpu;
    cpu.vendor = vk::Vendor::lavapipe;
    cpu.subgroup_arithmetic = true;
    cpu.driver = "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)";
    CHECK(names(shortfalls_of(cpu)) == Names{"a GPU", "Mesa 25 or newer"});
    cpu.driver = "llvmpipe Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)";
    CHECK(names(shortfalls_of(cpu)) == Names{"a GPU"});
}
