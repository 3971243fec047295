#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace etna::vk {

enum class DeviceType : uint8_t { discrete, integrated, virtual_gpu, cpu, other };
enum class Vendor : uint8_t { nvidia, amd, intel, lavapipe, other };

/// A cooperative matrix shape: a subgroup multiplies f16 matrices [rows, depth] x [depth, columns] and
/// accumulates in f32; all zeros if unsupported.
struct MatrixShape {
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint32_t depth = 0;

    bool operator==(const MatrixShape&) const = default;
};

/// Push constants that most devices support; every one supports half of them.
constexpr uint32_t large_push_constant_bytes = 256;

/// Everything that policy may depend on: read once, then a plain value, so that kernel choice is a pure
/// function, testable without a device. Feature flags are true only if the feature is usable and enabled.
struct DeviceProfile {
    std::string name;
    std::string driver; ///< driver name and version, for people
    std::array<uint8_t, 16> uuid{};
    DeviceType type = DeviceType::other;
    Vendor vendor = Vendor::other;
    uint32_t driver_version = 0;
    uint32_t api_version = 0; ///< as Vulkan encodes it

    bool storage_8bit = false;
    bool storage_16bit = false;
    bool shader_float16 = false;
    bool shader_int8 = false;
    bool shader_int64 = false;
    bool integer_dot_product = false;     ///< 4x8 bit
    bool integer_dot_accelerated = false; ///< of 4x8 bit signed
    bool subgroup_arithmetic = false;     ///< in compute shaders
    bool subgroup_shuffle = false;        ///< and vote, in compute shaders
    bool subgroup_size_control = false;   ///< with full subgroups
    bool cooperative_matrix = false;      ///< VK_KHR_cooperative_matrix, of a MatrixShape
    bool large_push_constants = false;    ///< of large_push_constant_bytes
    bool memory_budget = false;
    bool pipeline_statistics = false; ///< VK_KHR_pipeline_executable_properties
    bool unified_memory = false;      ///< all device-local memory is host-visible

    MatrixShape matrix_shape;
    uint32_t subgroup_size = 1;
    uint32_t subgroup_size_min = 1;
    uint32_t subgroup_size_max = 1;
    uint32_t workgroup_invocations_max = 128;
    std::array<uint32_t, 3> workgroup_count_max{65535, 65535, 65535};
    uint32_t shared_bytes = 16384;
    uint64_t allocation_bytes_max = 0; ///< an allocation must stay strictly below this
    uint64_t memory_bytes = 0;         ///< size of the largest device-local heap
    double timestamp_period_ns = 0;    ///< 0: no timestamps
};

/// The UUID in hexadecimal digits.
std::string uuid_text(const DeviceProfile& profile);

} // namespace etna::vk
