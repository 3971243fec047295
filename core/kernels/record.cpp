#include "core/kernels/record.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::kernels {

void launch_bytes(Library& library, vk::Recorder& recorder, const Launch& launch, ByteView arguments) {
    auto pipeline = library.pipeline(launch.variant, launch.specialization,
                                     static_cast<uint32_t>(arguments.size()), launch.subgroup);
    if (!pipeline) {
        recorder.fail(std::move(pipeline).error());
        return;
    }
    recorder.dispatch({.pipeline = **pipeline,
                       .push_constants = arguments,
                       .groups = launch.groups,
                       .reads = launch.reads,
                       .writes = launch.writes});
}

std::array<uint32_t, 3> folded_groups(uint32_t groups, uint32_t y) {
    constexpr uint32_t groups_x_max = 65535; // every Vulkan device has at least these
    const uint32_t z = divide_up(groups, groups_x_max);
    return {divide_up(groups, z), y, z};
}

bool require(vk::Recorder& recorder, bool holds, std::string_view operation, std::string_view problem) {
    if (!holds)
        recorder.fail({ErrorKind::invalid_argument, fmt::format("kernel {}: {}", operation, problem)});
    return holds;
}

} // namespace etna::kernels
