#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"

#include <vector>

#include <fmt/format.h>

namespace etna::vk {
namespace {

double number_of(const VkPipelineExecutableStatisticKHR& statistic) {
    switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return statistic.value.b32 == VK_TRUE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return static_cast<double>(statistic.value.u64);
    default:
        return statistic.value.f64;
    }
}

} // namespace

Result<std::vector<PipelineStatistic>> Pipeline::statistics() const {
    std::vector<PipelineStatistic> numbers;
    if (!impl_->device->profile.pipeline_statistics)
        return numbers;
    const LogicalDevice& device = impl_->device->device;
    // A driver may compile several executables for one pipeline; for a compute shader it is one.
    VkPipelineExecutableInfoKHR program{};
    program.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    program.pipeline = impl_->handle;
    uint32_t count = 0;
    const auto read = [&](VkPipelineExecutableStatisticKHR* statistics) {
        return device.functions.vkGetPipelineExecutableStatisticsKHR(device.handle, &program, &count,
                                                                     statistics);
    };
    VkResult got = read(nullptr);
    std::vector<VkPipelineExecutableStatisticKHR> statistics(count);
    for (VkPipelineExecutableStatisticKHR& statistic : statistics)
        statistic.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    if (got == VK_SUCCESS)
        got = read(statistics.data());
    if (got < 0)
        return vulkan_error(got, fmt::format("reading the statistics of shader `{}`", impl_->label));
    statistics.resize(count);
    for (const VkPipelineExecutableStatisticKHR& statistic : statistics)
        numbers.push_back({statistic.name, number_of(statistic)});
    return numbers;
}

} // namespace etna::vk
