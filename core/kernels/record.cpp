#include "core/kernels/record.hpp"

#include <fmt/format.h>

namespace etna::kernels {

std::array<uint32_t, 3> folded_groups(uint32_t groups, uint32_t y) {
    constexpr uint32_t groups_x_max = 65535; // every Vulkan device has at least these
    const uint32_t z = divide_up(groups, groups_x_max);
    return {divide_up(groups, z), y, z};
}

bool require(const Launcher& launcher, bool holds, std::string_view operation, std::string_view problem) {
    if (!holds)
        launcher.fail({ErrorKind::invalid_argument, fmt::format("kernel {}: {}", operation, problem)});
    return holds;
}

} // namespace etna::kernels
