#include "core/vk/device.hpp"

#include "core/vk/commands_content.hpp"
#include "core/vk/device_content.hpp"
#include "core/vk/error.hpp"
#include "core/vk/features.hpp"
#include "core/vk/inspection.hpp"
#include "core/vk/physical_device.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {
namespace {

Status create_handle(Device::Content& content, const FeatureSources& sources, uint32_t queue_family) {
    FeatureChain features(sources);
    enable_features(features, content.profile);
    const std::vector<const char*> extensions = needed_extensions(sources, content.profile);
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features.core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult created = vkCreateDevice(content.physical, &info, nullptr, &content.device.handle);
    if (created != VK_SUCCESS)
        return vulkan_error(created, fmt::format("opening the device `{}`", content.profile.name));
    volkLoadDeviceTable(&content.device.functions, content.device.handle);
    content.device.functions.vkGetDeviceQueue(content.device.handle, queue_family, 0, &content.queue);
    return {};
}

Status create_pipeline_cache(Device::Content& content, ByteView earlier) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = earlier.size();
    info.pInitialData = earlier.data();
    const VkResult created = content.device.functions.vkCreatePipelineCache(content.device.handle, &info,
                                                                            nullptr, &content.pipeline_cache);
    if (created != VK_SUCCESS)
        return vulkan_error(created, "creating the pipeline cache");
    return {};
}

void open_allocator(Device::Content& content) {
    AllocatorOptions options{.device = content.device.handle,
                             .functions = &content.device.functions,
                             .policy = {content.profile.allocation_bytes_max},
                             .map_device_memory = content.profile.unified_memory,
                             .host_memory = content.profile.type == DeviceType::cpu};
    vkGetPhysicalDeviceMemoryProperties(content.physical, &options.memory);
    content.allocator.emplace(options);
}

uint32_t find_workgroup_subgroups_max(VkPhysicalDevice physical) {
    VkPhysicalDeviceSubgroupSizeControlProperties size_control{};
    size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &size_control;
    vkGetPhysicalDeviceProperties2(physical, &properties);
    return size_control.maxComputeWorkgroupSubgroups;
}

} // namespace

Device::Content::~Content() {
    if (device.handle == VK_NULL_HANDLE)
        return;
    device.functions.vkDeviceWaitIdle(device.handle);
    timeline.release_all();
    device.functions.vkDestroyPipelineCache(device.handle, pipeline_cache, nullptr);
}

void Device::Content::collect() {
    slots->collect(timeline.completed());
    timeline.collect();
}

void Device::Content::set_name(VkObjectType type, uint64_t object, std::string_view name) const {
    if (instance->debug.set_name == nullptr || name.empty())
        return;
    const std::string terminated(name);
    VkDebugUtilsObjectNameInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    info.objectType = type;
    info.objectHandle = object;
    info.pObjectName = terminated.c_str();
    instance->debug.set_name(device.handle, &info);
}

Device::Device(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::create(Instance& instance, const PhysicalDevice& physical,
                                               const DeviceOptions& options) {
    if (!physical.missing.empty()) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the device `{}` lacks {}", physical.profile.name, physical.missing),
                     "update the GPU's Vulkan driver, or choose another device"};
    }
    auto content = std::make_unique<Content>();
    content->instance = &instance.content();
    content->physical = static_cast<VkPhysicalDevice>(physical.handle);
    content->physical_profile = physical.profile;
    content->profile =
        options.mask_optional_features ? without_optional_features(physical.profile) : physical.profile;
    // Enabled regardless of masks, because kernels cannot depend on it.
    content->profile.pipeline_statistics =
        physical.profile.pipeline_statistics && options.use == DeviceUse::inspection;
    const std::optional<uint32_t> family = find_compute_family(content->physical);
    if (!family) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the device `{}` lacks a compute queue", physical.profile.name)};
    }

    const FeatureSources sources = find_feature_sources(content->physical, instance.content().version);
    ETNA_CHECK(create_handle(*content, sources, *family));
    if (options.use == DeviceUse::inspection)
        leave_out_commands(content->device.functions);
    if (content->profile.subgroup_size_control)
        content->workgroup_subgroups_max = find_workgroup_subgroups_max(content->physical);
    ETNA_CHECK(content->timeline.open(content->device.handle, content->device.functions));
    open_allocator(*content);
    content->slots.emplace(CommandSlotsOptions{.device = content->device.handle,
                                               .functions = &content->device.functions,
                                               .queue_family = *family,
                                               .timestamp_bits = timestamp_bits(content->physical, *family),
                                               .timestamp_period_ns = content->profile.timestamp_period_ns});
    ETNA_CHECK(create_pipeline_cache(*content, options.pipeline_cache));
    return std::unique_ptr<Device>(new Device(std::move(content)));
}

const DeviceProfile& Device::profile() const {
    return content_->profile;
}

std::vector<std::byte> Device::pipeline_cache() const {
    const LogicalDevice& device = content_->device;
    size_t size = 0;
    const auto read = [&](void* data) {
        return device.functions.vkGetPipelineCacheData(device.handle, content_->pipeline_cache, &size, data);
    };
    if (read(nullptr) != VK_SUCCESS)
        return {};
    std::vector<std::byte> data(size);
    if (read(data.data()) != VK_SUCCESS)
        return {};
    data.resize(size);
    return data;
}

MemoryState Device::memory() const {
    return read_memory_state(*content_);
}

Result<uint64_t> Device::submit(CommandBuffer commands) {
    if (!commands.content_ || commands.content_->device != content_.get()) {
        return Error{ErrorKind::invalid_argument,
                     "commands are submitted twice, or to another device than they were made for"};
    }
    content_->collect();
    const uint64_t value = content_->timeline.begin_submission();
    VkSemaphore semaphore = content_->timeline.semaphore();
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands.content_->slot->buffer;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &semaphore;
    const VkResult submitted =
        content_->device.functions.vkQueueSubmit(content_->queue, 1, &info, VK_NULL_HANDLE);
    if (submitted != VK_SUCCESS) {
        content_->timeline.cancel_submission();
        return vulkan_error(submitted, "submitting work to the device");
    }
    content_->slots->give_back_at(std::move(commands.content_->slot), value);
    return value;
}

Status Device::wait(uint64_t value) {
    ETNA_CHECK(content_->timeline.wait(value));
    content_->collect();
    return {};
}

uint64_t Device::completed() const {
    return content_->timeline.completed();
}

std::vector<Timing> Device::timings() const {
    content_->collect();
    return content_->slots->timings();
}

} // namespace etna::vk
