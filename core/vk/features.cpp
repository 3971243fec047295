#include "core/vk/features.hpp"

#include <algorithm>
#include <cstring>

namespace etna::vk {

FeatureSources find_feature_sources(VkPhysicalDevice device, uint32_t instance_version) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(device, &properties);
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> extensions(count);
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
    extensions.resize(count);
    const auto has = [&extensions](const char* name) {
        return std::any_of(extensions.begin(), extensions.end(),
                           [name](const VkExtensionProperties& extension) {
                               return std::strcmp(extension.extensionName, name) == 0;
                           });
    };

    FeatureSources sources;
    sources.version = std::min(properties.apiVersion, instance_version);
    const bool is_1_3 = sources.version >= VK_API_VERSION_1_3;
    sources.size_control = is_1_3 || has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    sources.integer_dot_product = is_1_3 || has(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    sources.maintenance4 = is_1_3 || has(VK_KHR_MAINTENANCE_4_EXTENSION_NAME);
    sources.memory_budget = has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    sources.pipeline_statistics = has(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
#ifdef VK_KHR_cooperative_matrix
    sources.cooperative_matrix = has(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
#endif
    return sources;
}

FeatureChain::FeatureChain(const FeatureSources& sources) {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    vulkan11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    vulkan12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    dot_product.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
    pipeline_statistics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    const auto link = [this](auto& structure) {
        structure.pNext = core.pNext;
        core.pNext = &structure;
    };
    link(vulkan11);
    link(vulkan12);
    if (sources.size_control)
        link(size_control);
    if (sources.integer_dot_product)
        link(dot_product);
    if (sources.pipeline_statistics)
        link(pipeline_statistics);
#ifdef VK_KHR_cooperative_matrix
    cooperative_matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
    if (sources.cooperative_matrix)
        link(cooperative_matrix);
#endif
}

void enable_features(FeatureChain& chain, const DeviceProfile& profile) {
    chain.vulkan12.bufferDeviceAddress = VK_TRUE;
    chain.vulkan12.timelineSemaphore = VK_TRUE;
    chain.core.features.shaderInt64 = profile.shader_int64 ? VK_TRUE : VK_FALSE;
    chain.vulkan11.storageBuffer16BitAccess = profile.storage_16bit ? VK_TRUE : VK_FALSE;
    chain.vulkan12.storageBuffer8BitAccess = profile.storage_8bit ? VK_TRUE : VK_FALSE;
    chain.vulkan12.shaderFloat16 = profile.shader_float16 ? VK_TRUE : VK_FALSE;
    chain.vulkan12.shaderInt8 = profile.shader_int8 ? VK_TRUE : VK_FALSE;
    chain.size_control.subgroupSizeControl = profile.subgroup_size_control ? VK_TRUE : VK_FALSE;
    chain.size_control.computeFullSubgroups = profile.subgroup_size_control ? VK_TRUE : VK_FALSE;
    chain.dot_product.shaderIntegerDotProduct = profile.integer_dot_product ? VK_TRUE : VK_FALSE;
    chain.pipeline_statistics.pipelineExecutableInfo = profile.pipeline_statistics ? VK_TRUE : VK_FALSE;
#ifdef VK_KHR_cooperative_matrix
    chain.cooperative_matrix.cooperativeMatrix = profile.cooperative_matrix ? VK_TRUE : VK_FALSE;
    // Cooperative matrix shaders are written against the Vulkan memory model (SPV_KHR_cooperative_matrix).
    chain.vulkan12.vulkanMemoryModel = profile.cooperative_matrix ? VK_TRUE : VK_FALSE;
    // Once that is on, atomics of any shader need the scope of the device named as a feature.
    chain.vulkan12.vulkanMemoryModelDeviceScope = profile.cooperative_matrix ? VK_TRUE : VK_FALSE;
#endif
}

std::vector<const char*> needed_extensions(const FeatureSources& sources, const DeviceProfile& profile) {
    std::vector<const char*> names;
    const bool is_1_3 = sources.version >= VK_API_VERSION_1_3;
    if (profile.subgroup_size_control && !is_1_3)
        names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    if (profile.integer_dot_product && !is_1_3)
        names.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    if (profile.memory_budget)
        names.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (profile.pipeline_statistics)
        names.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
#ifdef VK_KHR_cooperative_matrix
    if (profile.cooperative_matrix)
        names.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
#endif
    return names;
}

DeviceProfile without_optional_features(DeviceProfile profile) {
    profile.storage_8bit = false;
    profile.storage_16bit = false;
    profile.shader_float16 = false;
    profile.shader_int8 = false;
    profile.shader_int64 = false;
    profile.integer_dot_product = profile.integer_dot_accelerated = false;
    profile.large_push_constants = false;
    profile.subgroup_arithmetic = false;
    profile.subgroup_shuffle = false;
    profile.subgroup_size_control = false;
    profile.cooperative_matrix = false;
    profile.matrix_shape = {};
    profile.memory_budget = false;
    profile.pipeline_statistics = false;
    profile.unified_memory = false;
    profile.subgroup_size_min = profile.subgroup_size;
    profile.subgroup_size_max = profile.subgroup_size;
    profile.timestamp_period_ns = 0;
    return profile;
}

} // namespace etna::vk
