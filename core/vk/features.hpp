#pragma once

#include "core/vk/profile.hpp"

#include <cstdint>
#include <vector>

#include <volk.h>

namespace etna::vk {

/// How a device provides features: through core Vulkan 1.3 or through extensions.
struct FeatureSources {
    uint32_t version = 0; ///< supported by both instance and device
    bool size_control = false;
    bool integer_dot_product = false;
    bool maintenance4 = false;
    bool memory_budget = false;
    bool cooperative_matrix = false;
    bool pipeline_statistics = false;
};

/// Queries the driver for its extensions.
FeatureSources find_feature_sources(VkPhysicalDevice device, uint32_t instance_version);

/// The feature structures of one query or one device creation, chaining only those that the device supports.
/// Not copyable: the structures point at each other. For devices of Vulkan 1.2 or later.
struct FeatureChain {
    explicit FeatureChain(const FeatureSources& sources);
    FeatureChain(const FeatureChain&) = delete;
    FeatureChain& operator=(const FeatureChain&) = delete;

    VkPhysicalDeviceFeatures2 core{};
    VkPhysicalDeviceVulkan11Features vulkan11{};
    VkPhysicalDeviceVulkan12Features vulkan12{};
    VkPhysicalDeviceSubgroupSizeControlFeatures size_control{};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product{};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR pipeline_statistics{};
#ifdef VK_KHR_cooperative_matrix
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative_matrix{};
#endif
};

/// Enables what etna requires and the optional features set in `profile`.
void enable_features(FeatureChain& chain, const DeviceProfile& profile);

/// Device extensions that provide those features.
std::vector<const char*> needed_extensions(const FeatureSources& sources, const DeviceProfile& profile);

/// `profile` without any optional feature.
DeviceProfile without_optional_features(DeviceProfile profile);

} // namespace etna::vk
