#include "core/vk/physical_device.hpp"

#include "core/vk/features.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace etna::vk {
namespace {

DeviceType device_type(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return DeviceType::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return DeviceType::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return DeviceType::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return DeviceType::cpu;
    default:
        return DeviceType::other;
    }
}

/// PCI vendor numbers as VkPhysicalDeviceProperties::vendorID has them.
Vendor vendor_of(uint32_t vendor_id, VkDriverId driver) {
    if (driver == VK_DRIVER_ID_MESA_LLVMPIPE)
        return Vendor::lavapipe;
    switch (vendor_id) {
    case 0x10de:
        return Vendor::nvidia;
    case 0x1002:
        return Vendor::amd;
    case 0x8086:
        return Vendor::intel;
    default:
        return Vendor::other;
    }
}

/// The properties available in every version.
void read_limits(const VkPhysicalDeviceProperties& properties, DeviceProfile& profile) {
    profile.name = properties.deviceName;
    profile.type = device_type(properties.deviceType);
    profile.vendor = vendor_of(properties.vendorID, VkDriverId{});
    profile.driver_version = properties.driverVersion;
    profile.api_version = properties.apiVersion;
    const VkPhysicalDeviceLimits& limits = properties.limits;
    profile.workgroup_invocations_max = limits.maxComputeWorkGroupInvocations;
    std::copy_n(limits.maxComputeWorkGroupCount, 3, profile.workgroup_count_max.begin());
    profile.shared_bytes = limits.maxComputeSharedMemorySize;
}

#ifdef VK_KHR_cooperative_matrix
/// The largest shape of f16 factors and f32 sums. `read` is null if the loader does not know it.
MatrixShape find_matrix_shape(PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR read,
                              VkPhysicalDevice handle) {
    uint32_t count = 0;
    if (read == nullptr || read(handle, &count, nullptr) != VK_SUCCESS)
        return {};
    VkCooperativeMatrixPropertiesKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    std::vector<VkCooperativeMatrixPropertiesKHR> all(count, empty);
    if (read(handle, &count, all.data()) < VK_SUCCESS)
        return {};
    MatrixShape best;
    for (const auto& one : all) {
        const bool fits =
            one.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && one.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
            one.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && one.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
            one.scope == VK_SCOPE_SUBGROUP_KHR && one.saturatingAccumulation == VK_FALSE;
        if (fits &&
            uint64_t{one.MSize} * one.NSize * one.KSize > uint64_t{best.rows} * best.columns * best.depth) {
            best = {.rows = one.MSize, .columns = one.NSize, .depth = one.KSize};
        }
    }
    return best;
}
#endif

/// The profile of a device of Vulkan 1.2 or later; structures are chained only if the device supports them.
void read_properties([[maybe_unused]] VkInstance instance, VkPhysicalDevice handle,
                     const FeatureSources& sources, const FeatureChain& features, DeviceProfile& profile) {
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    const auto link = [&properties](auto& structure, VkStructureType type) {
        structure.sType = type;
        structure.pNext = properties.pNext;
        properties.pNext = &structure;
    };
    VkPhysicalDeviceVulkan11Properties vulkan11{};
    link(vulkan11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    VkPhysicalDeviceVulkan12Properties vulkan12{};
    link(vulkan12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
    VkPhysicalDeviceSubgroupSizeControlProperties size_control{};
    if (sources.size_control)
        link(size_control, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    VkPhysicalDeviceShaderIntegerDotProductProperties dot_product{};
    if (sources.integer_dot_product)
        link(dot_product, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
    VkPhysicalDeviceMaintenance4Properties maintenance4{};
    maintenance4.maxBufferSize = std::numeric_limits<uint64_t>::max();
    if (sources.maintenance4)
        link(maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
#ifdef VK_KHR_cooperative_matrix
    VkPhysicalDeviceCooperativeMatrixPropertiesKHR cooperative_matrix{};
    if (sources.cooperative_matrix)
        link(cooperative_matrix, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
#endif
    vkGetPhysicalDeviceProperties2(handle, &properties);

    constexpr VkShaderStageFlags compute = VK_SHADER_STAGE_COMPUTE_BIT;
    profile.vendor = vendor_of(properties.properties.vendorID, vulkan12.driverID);
    profile.driver = fmt::format("{} {}", vulkan12.driverName, vulkan12.driverInfo);
    std::copy_n(vulkan11.deviceUUID, VK_UUID_SIZE, profile.uuid.begin());
    profile.allocation_bytes_max = std::min(vulkan11.maxMemoryAllocationSize, maintenance4.maxBufferSize);
    profile.subgroup_size = std::max(vulkan11.subgroupSize, 1U);
    profile.subgroup_size_min = profile.subgroup_size;
    profile.subgroup_size_max = profile.subgroup_size;
    const auto supports_subgroup = [&vulkan11](VkSubgroupFeatureFlags operations) {
        return (vulkan11.subgroupSupportedStages & compute) != 0 &&
               (vulkan11.subgroupSupportedOperations & operations) == operations;
    };
    profile.subgroup_arithmetic = supports_subgroup(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    profile.subgroup_shuffle =
        supports_subgroup(VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT);
    profile.subgroup_size_control = features.size_control.subgroupSizeControl == VK_TRUE &&
                                    features.size_control.computeFullSubgroups == VK_TRUE &&
                                    (size_control.requiredSubgroupSizeStages & compute) != 0;
    if (profile.subgroup_size_control) {
        profile.subgroup_size_min = size_control.minSubgroupSize;
        profile.subgroup_size_max = size_control.maxSubgroupSize;
    }
    profile.large_push_constants =
        properties.properties.limits.maxPushConstantsSize >= large_push_constant_bytes;
    profile.integer_dot_product = features.dot_product.shaderIntegerDotProduct == VK_TRUE;
    profile.integer_dot_accelerated =
        profile.integer_dot_product && dot_product.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;
#ifdef VK_KHR_cooperative_matrix
    // Younger than the volk of some distributions.
    const auto read_shapes = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
        vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
    profile.matrix_shape =
        sources.cooperative_matrix ? find_matrix_shape(read_shapes, handle) : MatrixShape{};
    profile.cooperative_matrix = features.cooperative_matrix.cooperativeMatrix == VK_TRUE &&
                                 profile.matrix_shape != MatrixShape{} &&
                                 features.vulkan12.vulkanMemoryModel == VK_TRUE &&
                                 features.vulkan12.vulkanMemoryModelDeviceScope == VK_TRUE &&
                                 (cooperative_matrix.cooperativeMatrixSupportedStages & compute) != 0;
#endif
}

void read_memory(VkPhysicalDevice handle, DeviceProfile& profile) {
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(handle, &memory);
    constexpr VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                             VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                             VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    bool all_mapped = true;
    for (uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap) {
        if ((memory.memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0)
            continue;
        profile.memory_bytes = std::max(profile.memory_bytes, memory.memoryHeaps[heap].size);
        bool heap_mapped = false;
        for (uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
            heap_mapped |= memory.memoryTypes[type].heapIndex == heap &&
                           (memory.memoryTypes[type].propertyFlags & mapped) == mapped;
        }
        all_mapped &= heap_mapped;
    }
    // A discrete device's memory may be entirely host-visible too (resizable BAR), but it is not the host's
    // memory.
    profile.unified_memory =
        all_mapped && (profile.type == DeviceType::cpu || profile.type == DeviceType::integrated);
}

void add_missing(std::string& missing, std::string_view what) {
    if (!missing.empty())
        missing += ", ";
    missing += what;
}

} // namespace

std::optional<uint32_t> find_compute_family(VkPhysicalDevice handle) {
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
    std::optional<uint32_t> found;
    for (uint32_t family = 0; family < count; ++family) {
        if ((families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || families[family].queueCount == 0)
            continue;
        if ((families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0)
            return family;
        if (!found)
            found = family;
    }
    return found;
}

uint32_t timestamp_bits(VkPhysicalDevice handle, uint32_t family) {
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
    return family < count ? families[family].timestampValidBits : 0;
}

PhysicalDevice read_physical_device(VkInstance instance, VkPhysicalDevice handle, uint32_t index,
                                    uint32_t instance_version) {
    PhysicalDevice device;
    device.index = index;
    device.handle = handle;
    DeviceProfile& profile = device.profile;
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(handle, &properties);
    read_limits(properties, profile);
    read_memory(handle, profile);

    const std::optional<uint32_t> family = find_compute_family(handle);
    if (!family) {
        add_missing(device.missing, "a compute queue");
    } else if (timestamp_bits(handle, *family) != 0) {
        profile.timestamp_period_ns = static_cast<double>(properties.limits.timestampPeriod);
    }

    const FeatureSources sources = find_feature_sources(handle, instance_version);
    if (sources.version < VK_API_VERSION_1_2) {
        add_missing(device.missing,
                    fmt::format("Vulkan 1.2 (it has {}.{})", VK_API_VERSION_MAJOR(properties.apiVersion),
                                VK_API_VERSION_MINOR(properties.apiVersion)));
        return device;
    }
    FeatureChain features(sources);
    vkGetPhysicalDeviceFeatures2(handle, &features.core);
    if (features.vulkan12.bufferDeviceAddress != VK_TRUE)
        add_missing(device.missing, "bufferDeviceAddress");
    if (features.vulkan12.timelineSemaphore != VK_TRUE)
        add_missing(device.missing, "timelineSemaphore");
    profile.shader_int64 = features.core.features.shaderInt64 == VK_TRUE;
    profile.storage_16bit = features.vulkan11.storageBuffer16BitAccess == VK_TRUE;
    profile.storage_8bit = features.vulkan12.storageBuffer8BitAccess == VK_TRUE;
    profile.shader_float16 = features.vulkan12.shaderFloat16 == VK_TRUE;
    profile.shader_int8 = features.vulkan12.shaderInt8 == VK_TRUE;
    profile.memory_budget = sources.memory_budget;
    profile.pipeline_statistics = features.pipeline_statistics.pipelineExecutableInfo == VK_TRUE;
    read_properties(instance, handle, sources, features, profile);
    return device;
}

} // namespace etna::vk
