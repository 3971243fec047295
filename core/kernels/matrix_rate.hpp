#pragma once

#include "core/base/result.hpp"
#include "core/kernels/launcher.hpp"
#include "core/kernels/library.hpp"
#include "core/vk/recorder.hpp"

#include <cstdint>

namespace etna::kernels {

/// The units of a device that multiply and add.
enum class RateUnits : uint8_t {
    arithmetic, ///< f32
    matrix,     ///< factors in f16, sums in f32; needs DeviceProfile::cooperative_matrix
};

/// One dispatch that multiplies and adds from registers alone (shaders/rate).
struct RateWork {
    RateUnits units = RateUnits::arithmetic;
    uint32_t workgroups = 1;
    uint32_t repetitions = 1;
    vk::Range output; ///< f32 [workgroups][rate_workgroup()]
};
/// Invocations of a workgroup.
uint32_t rate_workgroup(const PlanTarget& target, RateUnits units);
/// Multiplications and additions of the dispatch.
uint64_t rate_operations(const PlanTarget& target, const RateWork& work);
void rate(const Launcher& launcher, const RateWork& work);

/// Measures how many multiplications and additions a device computes per second, on its matrix units if it
/// has them and they are faster, else on its arithmetic units. Reads no memory, so that kernels do not reach
/// it. The fastest of several samples. Blocks; other work on the device makes it slower. Errors:
/// out_of_memory, device_lost, unsupported (the driver rejects the kernel).
Result<double> measure_matrix_rate(Library& library);

} // namespace etna::kernels
