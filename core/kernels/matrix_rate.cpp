#include "core/kernels/matrix_rate.hpp"

#include "core/kernels/kernel_rate.hpp"
#include "core/kernels/record.hpp"
#include "shaders/rate/arguments.h"

#include <algorithm>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::RateArguments) == 16);

constexpr uint32_t sums = 8;              ///< of a shader
constexpr uint32_t arithmetic_steps = 16; ///< of a repetition
constexpr uint32_t arithmetic_workgroup = 64;

/// Sizes that take some milliseconds on a fast device, and less than a second on a slow one.
constexpr uint32_t gpu_workgroups = 8192;
constexpr uint32_t cpu_workgroups = 256;
constexpr uint64_t gpu_operations = 100'000'000'000;
constexpr uint64_t cpu_operations = 1'000'000'000;

shaders::Variant variant_of(RateUnits units) {
    return units == RateUnits::matrix ? shaders::matrix_rate() : shaders::arithmetic_rate();
}

/// Work that takes as many repetitions as make up the operations.
RateWork sized_work(const PlanTarget& target, RateUnits units) {
    const bool is_cpu = target.profile.type == vk::DeviceType::cpu;
    RateWork work{.units = units, .workgroups = is_cpu ? cpu_workgroups : gpu_workgroups, .output = {}};
    const uint64_t operations = is_cpu ? cpu_operations : gpu_operations;
    work.repetitions = static_cast<uint32_t>(operations / rate_operations(target, work) + 1);
    return work;
}

Result<double> measure_units(Library& library, RateUnits units) {
    const PlanTarget& target = library.target();
    RateWork work = sized_work(target, units);
    const uint64_t output_bytes = uint64_t{work.workgroups} * rate_workgroup(target, units) * sizeof(float);
    const KernelProblem problem{.name = "matrix rate",
                                .bytes = output_bytes,
                                .operations = rate_operations(target, work),
                                .prepare = [&](ProblemMemory& memory) -> RecordRepetition {
                                    work.output = memory.take(output_bytes);
                                    return [&](vk::Recorder& recorder, uint32_t) {
                                        rate({library, recorder}, work);
                                    };
                                }};
    ETNA_TRY(const std::vector<double> samples_us, measure_kernel(library, problem));
    const double fastest_us = *std::min_element(samples_us.begin(), samples_us.end());
    return static_cast<double>(problem.operations) / (fastest_us / 1e6);
}

} // namespace

uint32_t rate_workgroup(const PlanTarget& target, RateUnits units) {
    return units == RateUnits::matrix ? target.profile.subgroup_size_max : arithmetic_workgroup;
}

uint64_t rate_operations(const PlanTarget& target, const RateWork& work) {
    const vk::MatrixShape& shape = target.profile.matrix_shape;
    const uint64_t products = work.units == RateUnits::matrix
                                  ? uint64_t{shape.rows} * shape.columns * shape.depth
                                  : uint64_t{arithmetic_steps} * arithmetic_workgroup;
    return 2 * products * sums * work.workgroups * work.repetitions;
}

void rate(const Launcher& launcher, const RateWork& work) {
    const PlanTarget& target = launcher.target();
    const uint32_t workgroup = rate_workgroup(target, work.units);
    if (!require(launcher, work.output.bytes >= uint64_t{work.workgroups} * workgroup * sizeof(float), "rate",
                 "the output is shorter than the workgroups"))
        return;
    const shaders::RateArguments arguments{
        .y = work.output.address, .repetitions = work.repetitions, .x = 0x1p-6F};
    const vk::MatrixShape& shape = target.profile.matrix_shape;
    if (work.units == RateUnits::matrix) {
        launch(launcher,
               {.variant = variant_of(work.units),
                .specialization = {workgroup, shape.rows, shape.columns, shape.depth},
                .groups = {work.workgroups, 1, 1},
                .reads = {},
                .writes = {work.output}},
               arguments);
        return;
    }
    launch(launcher,
           {.variant = variant_of(work.units),
            .specialization = {workgroup},
            .groups = {work.workgroups, 1, 1},
            .reads = {},
            .writes = {work.output}},
           arguments);
}

Result<double> measure_matrix_rate(Library& library) {
    ETNA_TRY(double fastest, measure_units(library, RateUnits::arithmetic));
    if (usable(shaders::matrix_rate(), library.target().profile)) {
        ETNA_TRY(const double matrix, measure_units(library, RateUnits::matrix));
        fastest = std::max(fastest, matrix);
    }
    return fastest;
}

} // namespace etna::kernels
