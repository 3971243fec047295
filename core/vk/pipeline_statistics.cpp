#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"

#include <algorithm>
#include <string>
#include <string_view>
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

/// A driver may compile several executables for one pipeline; for a compute shader it is one.
VkPipelineExecutableInfoKHR executable_of(VkPipeline pipeline) {
    VkPipelineExecutableInfoKHR executable{};
    executable.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    executable.pipeline = pipeline;
    return executable;
}

/// Mesa's drivers also return the representations before it.
bool is_machine_code(const VkPipelineExecutableInternalRepresentationKHR& representation) {
    const std::string_view name = representation.name;
    return representation.isText == VK_TRUE && name.find("ssembly") != std::string_view::npos;
}

} // namespace

Result<std::vector<PipelineStatistic>> Pipeline::statistics() const {
    std::vector<PipelineStatistic> numbers;
    if (!impl_->device->profile.pipeline_statistics)
        return numbers;
    const LogicalDevice& device = impl_->device->device;
    const VkPipelineExecutableInfoKHR executable = executable_of(impl_->handle);
    uint32_t count = 0;
    const auto read = [&](VkPipelineExecutableStatisticKHR* statistics) {
        return device.functions.vkGetPipelineExecutableStatisticsKHR(device.handle, &executable, &count,
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

Result<std::string> Pipeline::disassembly() const {
    if (!impl_->device->profile.pipeline_statistics)
        return std::string();
    const LogicalDevice& device = impl_->device->device;
    const VkPipelineExecutableInfoKHR executable = executable_of(impl_->handle);
    uint32_t count = 0;
    const auto read = [&](VkPipelineExecutableInternalRepresentationKHR* representations) {
        return device.functions.vkGetPipelineExecutableInternalRepresentationsKHR(device.handle, &executable,
                                                                                  &count, representations);
    };
    VkResult got = read(nullptr); // the number of representations
    std::vector<VkPipelineExecutableInternalRepresentationKHR> representations(count);
    for (auto& representation : representations)
        representation.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    if (got == VK_SUCCESS)
        got = read(representations.data()); // their sizes
    representations.resize(got < 0 ? 0 : count);
    std::string text;
    const auto code = std::find_if(representations.begin(), representations.end(), is_machine_code);
    if (code != representations.end()) {
        text.resize(code->dataSize);
        code->pData = text.data();
        got = read(representations.data());
    }
    if (got < 0)
        return vulkan_error(got, fmt::format("disassembling shader `{}`", impl_->label));
    return text.substr(0, text.find('\0'));
}

} // namespace etna::vk
