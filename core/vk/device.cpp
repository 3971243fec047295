#include "core/vk/device.hpp"

#include "core/vk/error.hpp"
#include "core/vk/features.hpp"
#include "core/vk/impl.hpp"
#include "core/vk/loader.hpp"
#include "core/vk/physical_device.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {
namespace {

Status create_handle(Device::Impl& impl, const FeatureSources& sources, uint32_t queue_family) {
    FeatureChain features(sources);
    enable_features(features, impl.profile);
    const std::vector<const char*> extensions = needed_extensions(sources, impl.profile);
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
    ETNA_CHECK(vulkan_status(vkCreateDevice(impl.physical, &info, nullptr, &impl.device.handle),
                             fmt::format("opening the device `{}`", impl.profile.name)));
    volkLoadDeviceTable(&impl.device.functions, impl.device.handle);
    impl.device.functions.vkGetDeviceQueue(impl.device.handle, queue_family, 0, &impl.queue);
    return {};
}

Status create_pipeline_cache(Device::Impl& impl, ByteView earlier) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = earlier.size();
    info.pInitialData = earlier.data();
    return vulkan_status(
        impl.device.functions.vkCreatePipelineCache(impl.device.handle, &info, nullptr, &impl.pipeline_cache),
        "creating the pipeline cache");
}

void open_allocator(Device::Impl& impl) {
    AllocatorOptions options{.device = impl.device.handle,
                             .functions = &impl.device.functions,
                             .policy = {impl.profile.allocation_bytes_max},
                             .map_device_memory = impl.profile.unified_memory,
                             .host_memory = impl.profile.type == DeviceType::cpu};
    vkGetPhysicalDeviceMemoryProperties(impl.physical, &options.memory);
    impl.allocator.emplace(options);
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

Device::Impl::~Impl() {
    if (device.handle == VK_NULL_HANDLE)
        return;
    device.functions.vkDeviceWaitIdle(device.handle);
    timeline.release_all();
    device.functions.vkDestroyPipelineCache(device.handle, pipeline_cache, nullptr);
}

Status Device::Impl::wait_for_submissions() {
    uint64_t value = 0;
    {
        // Without the lock a submission could be counted that fails and then never completes.
        const std::scoped_lock lock(queue_mutex);
        value = timeline.submitted();
    }
    return noting_loss(timeline.wait(value));
}

Result<uint64_t> Device::Impl::enqueue(VkCommandBuffer commands) {
    collect();
    const std::scoped_lock lock(queue_mutex);
    const uint64_t value = timeline.begin_submission();
    VkSemaphore semaphore = timeline.semaphore();
    VkTimelineSemaphoreSubmitInfo signal{};
    signal.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    signal.signalSemaphoreValueCount = 1;
    signal.pSignalSemaphoreValues = &value;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &signal;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &semaphore;
    const VkResult submitted = device.functions.vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
    if (submitted != VK_SUCCESS) {
        timeline.cancel_submission();
        return noting_loss(vulkan_error(submitted, "submitting work to the device")).error();
    }
    return value;
}

Status Device::Impl::noting_loss(Status status) {
    if (!status && status.error().kind == ErrorKind::device_lost)
        is_lost = true;
    return status;
}

void Device::Impl::collect() {
    contexts->collect(timeline.completed());
    timeline.collect();
}

void Device::Impl::set_name(VkObjectType type, uint64_t object, std::string_view name) const {
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

Device::Device(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::create(Instance& instance, const PhysicalDevice& physical,
                                               const DeviceOptions& options) {
    if (!physical.missing.empty()) {
        return unsupported(fmt::format("the device `{}` lacks {}", physical.profile.name, physical.missing),
                           "update the GPU's Vulkan driver, or choose another device");
    }
    auto impl = std::make_unique<Impl>();
    impl->instance = &instance.impl();
    impl->physical = static_cast<VkPhysicalDevice>(physical.handle);
    impl->physical_profile = physical.profile;
    impl->profile =
        options.mask_optional_features ? without_optional_features(physical.profile) : physical.profile;
    // Enabled regardless of masks, because kernels cannot depend on it.
    impl->profile.pipeline_statistics =
        physical.profile.pipeline_statistics && options.use == DeviceUse::inspection;
    const std::optional<uint32_t> family = find_compute_family(impl->physical);
    if (!family)
        return unsupported(fmt::format("the device `{}` lacks a compute queue", physical.profile.name));

    const FeatureSources sources = find_feature_sources(impl->physical, instance.impl().version);
    ETNA_CHECK(create_handle(*impl, sources, *family));
    if (options.use == DeviceUse::inspection)
        discard_commands(impl->device.functions);
    if (impl->profile.subgroup_size_control)
        impl->workgroup_subgroups_max = find_workgroup_subgroups_max(impl->physical);
    ETNA_CHECK(impl->timeline.open(impl->device.handle, impl->device.functions));
    open_allocator(*impl);
    impl->contexts.emplace(
        CommandContextPoolOptions{.device = impl->device.handle,
                                  .functions = &impl->device.functions,
                                  .queue_family = *family,
                                  .timestamp_bits = timestamp_bits(impl->physical, *family),
                                  .timestamp_period_ns = impl->profile.timestamp_period_ns});
    ETNA_CHECK(create_pipeline_cache(*impl, options.pipeline_cache));
    return std::unique_ptr<Device>(new Device(std::move(impl)));
}

const DeviceProfile& Device::profile() const {
    return impl_->profile;
}

std::vector<std::byte> Device::pipeline_cache() const {
    const LogicalDevice& device = impl_->device;
    size_t size = 0;
    const auto read = [&](void* data) {
        return device.functions.vkGetPipelineCacheData(device.handle, impl_->pipeline_cache, &size, data);
    };
    if (read(nullptr) != VK_SUCCESS)
        return {};
    std::vector<std::byte> data(size);
    if (read(data.data()) != VK_SUCCESS)
        return {};
    data.resize(size);
    return data;
}

AllocatedMemory Device::allocated() const {
    return impl_->allocator->allocated();
}

MemoryState Device::memory() const {
    return read_memory_state(*impl_);
}

Result<uint64_t> Device::submit(CommandBuffer commands) {
    if (!commands.impl_ || commands.impl_->device != impl_.get())
        return invalid_argument("commands are submitted twice, or to a device that did not record them");
    ETNA_TRY(const uint64_t value, impl_->enqueue(commands.impl_->context->buffer));
    impl_->contexts->recycle_at(std::move(commands.impl_->context), value);
    return value;
}

Result<uint64_t> Device::submit_reusable(CommandBuffer& commands) {
    CommandBuffer::Impl* const own = commands.impl_.get();
    if (own == nullptr || own->device != impl_.get() || !own->is_reusable ||
        own->submitted > impl_->timeline.completed()) {
        return invalid_argument("commands are submitted again while the device runs them, or were not "
                                "recorded to be reusable");
    }
    ETNA_TRY(own->submitted, impl_->enqueue(own->context->buffer));
    return own->submitted;
}

Status Device::wait(uint64_t value) {
    ETNA_CHECK(impl_->noting_loss(impl_->timeline.wait(value)));
    impl_->collect();
    return {};
}

double Device::busy_ms(uint64_t value) const {
    return std::chrono::duration<double, std::milli>(impl_->timeline.busy(value)).count();
}

bool Device::is_lost() const {
    return impl_->is_lost;
}

uint64_t Device::completed() const {
    return impl_->timeline.completed();
}

bool Device::is_idle() const {
    const uint64_t submitted = impl_->timeline.submitted();
    return impl_->timeline.completed() >= submitted;
}

std::vector<Timing> Device::timings() const {
    impl_->collect();
    return impl_->contexts->timings();
}

} // namespace etna::vk
