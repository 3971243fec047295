#include "core/vk/pipeline.hpp"

#include "core/vk/error.hpp"
#include "core/vk/impl.hpp"
#include "core/vk/shader_code.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {
namespace {

constexpr uint32_t spirv_magic = 0x07230203;
constexpr size_t spirv_header_words = 5;

Error refused(const PipelineOptions& options, std::string_view why) {
    return {ErrorKind::unsupported, fmt::format("shader `{}` {}", options.label, why)};
}

uint64_t invocations(const std::array<uint32_t, 3>& size) {
    uint64_t product = 1;
    for (const uint32_t extent : size) // saturates: three extents of 2^32 - 1 do not fit
        product = std::min<uint64_t>(product, UINT32_MAX) * extent;
    return product;
}

Status check(const Device::Impl& device, const PipelineOptions& options,
             const std::optional<std::array<uint32_t, 3>>& size) {
    if (options.code.size() <= spirv_header_words || options.code[0] != spirv_magic)
        return invalid_argument(fmt::format("shader `{}` is not SPIR-V", options.label));
    const uint32_t push_constant_bytes_max =
        device.profile.large_push_constants ? large_push_constant_bytes : push_constant_bytes_min;
    if (options.push_constant_bytes > push_constant_bytes_max || options.push_constant_bytes % 4 != 0) {
        return invalid_argument(
            fmt::format("shader `{}` has {} bytes of push constants; the limit is {}, in multiples of 4",
                        options.label, options.push_constant_bytes, push_constant_bytes_max));
    }
    const DeviceProfile& profile = device.profile;
    if (size && invocations(*size) > profile.workgroup_invocations_max) {
        return refused(options,
                       fmt::format("has {} invocations in a workgroup, and `{}` allows {}",
                                   invocations(*size), profile.name, profile.workgroup_invocations_max));
    }
    const uint32_t required = options.required_subgroup_size;
    if (required == 0)
        return {};
    if (!profile.subgroup_size_control || !std::has_single_bit(required) ||
        required < profile.subgroup_size_min || required > profile.subgroup_size_max) {
        return refused(options, fmt::format("requires subgroups of {}, which `{}` does not support", required,
                                            profile.name));
    }
    if (size && invocations(*size) > uint64_t{required} * device.workgroup_subgroups_max) {
        return refused(options,
                       fmt::format("needs more than the {} subgroups of {} that `{}` allows in a workgroup",
                                   device.workgroup_subgroups_max, required, profile.name));
    }
    return {};
}

Status create_layout(Pipeline::Impl& impl) {
    VkPushConstantRange range{};
    range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    range.size = impl.push_constant_bytes;
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = impl.push_constant_bytes == 0 ? 0 : 1;
    info.pPushConstantRanges = &range;
    const LogicalDevice& device = impl.device->device;
    return vulkan_status(device.functions.vkCreatePipelineLayout(device.handle, &info, nullptr, &impl.layout),
                         fmt::format("creating the layout of shader `{}`", impl.label));
}

/// Owns a shader module for as long as the pipeline is being compiled.
class ShaderModule {
public:
    explicit ShaderModule(const LogicalDevice& device) : device_(device) {}
    ShaderModule(const ShaderModule&) = delete;
    ShaderModule& operator=(const ShaderModule&) = delete;
    ~ShaderModule() { device_.functions.vkDestroyShaderModule(device_.handle, handle_, nullptr); }

    VkResult open(std::span<const uint32_t> code) {
        VkShaderModuleCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = code.size_bytes();
        info.pCode = code.data();
        return device_.functions.vkCreateShaderModule(device_.handle, &info, nullptr, &handle_);
    }
    [[nodiscard]] VkShaderModule handle() const { return handle_; }

private:
    const LogicalDevice& device_;
    VkShaderModule handle_ = VK_NULL_HANDLE;
};

std::vector<VkSpecializationMapEntry> specialization_entries(size_t count) {
    std::vector<VkSpecializationMapEntry> entries;
    entries.reserve(count);
    for (uint32_t id = 0; id < count; ++id) {
        entries.push_back(
            {.constantID = id, .offset = id * uint32_t{sizeof(uint32_t)}, .size = sizeof(uint32_t)});
    }
    return entries;
}

Status compile(Pipeline::Impl& impl, const PipelineOptions& options, bool full_subgroups) {
    const LogicalDevice& device = impl.device->device;
    ShaderModule module(device);
    ETNA_CHECK(vulkan_status(module.open(options.code), fmt::format("loading shader `{}`", impl.label)));

    const auto entries = specialization_entries(options.specialization.size());
    VkSpecializationInfo specialization{};
    specialization.mapEntryCount = static_cast<uint32_t>(entries.size());
    specialization.pMapEntries = entries.data();
    specialization.dataSize = options.specialization.size_bytes();
    specialization.pData = options.specialization.data();
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    subgroup.requiredSubgroupSize = options.required_subgroup_size;

    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = options.required_subgroup_size != 0 ? &subgroup : nullptr;
    info.stage.flags =
        full_subgroups
            ? VkPipelineShaderStageCreateFlags{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT}
            : 0;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.handle();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = entries.empty() ? nullptr : &specialization;
    info.layout = impl.layout;
    if (impl.device->profile.pipeline_statistics)
        info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                     VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    return vulkan_status(device.functions.vkCreateComputePipelines(device.handle, impl.device->pipeline_cache,
                                                                   1, &info, nullptr, &impl.handle),
                         fmt::format("compiling shader `{}`", impl.label));
}

} // namespace

Pipeline::Impl::~Impl() {
    device->timeline.retire([owner = device, pipeline = handle, pipeline_layout = layout] {
        const LogicalDevice& logical = owner->device;
        logical.functions.vkDestroyPipeline(logical.handle, pipeline, nullptr);
        logical.functions.vkDestroyPipelineLayout(logical.handle, pipeline_layout, nullptr);
    });
}

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;
Pipeline::~Pipeline() = default;

Result<Pipeline> Pipeline::create(Device& device, const PipelineOptions& options) {
    const auto size = workgroup_size(options.code, options.specialization);
    ETNA_CHECK(check(device.impl(), options, size));
    auto impl = std::make_unique<Impl>();
    impl->device = &device.impl();
    impl->push_constant_bytes = options.push_constant_bytes;
    impl->label = options.label;
    ETNA_CHECK(create_layout(*impl));
    // Full subgroups require a workgroup size that is a multiple of the subgroup size
    // (VkPipelineShaderStageCreateInfo).
    const DeviceProfile& profile = device.profile();
    const uint32_t subgroup =
        options.required_subgroup_size != 0 ? options.required_subgroup_size : profile.subgroup_size_max;
    const bool full_subgroups = profile.subgroup_size_control && size && (*size)[0] % subgroup == 0;
    ETNA_CHECK(compile(*impl, options, full_subgroups));
    impl->device->set_name(VK_OBJECT_TYPE_PIPELINE, (uint64_t)impl->handle, options.label);
    return Pipeline(std::move(impl));
}

const std::string& Pipeline::label() const {
    return impl_->label;
}

} // namespace etna::vk
