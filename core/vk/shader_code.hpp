#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace etna::vk {

/// Workgroup size of a SPIR-V compute shader after specialisation (SPIR-V specification: OpExecutionMode
/// LocalSize and LocalSizeId, and the WorkgroupSize built-in, which overrides them). Empty if the code
/// declares none or is corrupt.
std::optional<std::array<uint32_t, 3>> workgroup_size(std::span<const uint32_t> code,
                                                      std::span<const uint32_t> specialization);

} // namespace etna::vk
