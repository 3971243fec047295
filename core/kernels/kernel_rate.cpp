#include "core/kernels/kernel_rate.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace etna::kernels {
namespace {

constexpr double submission_ms = 20;
constexpr uint32_t rate_samples = 5;
constexpr double repetitions_max = 512;

/// Returns the milliseconds that the device spends on `repetitions` repetitions.
Result<double> repeated_ms(vk::Device& device, const RecordRepetition& record, uint32_t repetitions) {
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device));
    for (uint32_t i = 0; i < repetitions; ++i) {
        record(recorder, i);
        recorder.barrier();
    }
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(const uint64_t done_at, device.submit(std::move(commands)));
    ETNA_CHECK(device.wait(done_at));
    return device.busy_ms(done_at);
}

} // namespace

Result<std::vector<double>> measure_kernel(Library& library, const KernelProblem& problem) {
    vk::Device& device = library.device();
    ETNA_TRY(ProblemMemory memory, ProblemMemory::create(library));
    const RecordRepetition record = problem.prepare(memory);
    ETNA_CHECK(memory.finish());
    ETNA_CHECK(repeated_ms(device, record, 1));
    ETNA_TRY(const double once_ms, repeated_ms(device, record, 1));
    const double fitting = submission_ms / std::max(once_ms, submission_ms / repetitions_max);
    const auto repetitions = static_cast<uint32_t>(std::max(fitting, 1.0));
    std::vector<double> samples_us;
    for (uint32_t i = 0; i < rate_samples; ++i) {
        ETNA_TRY(const double all_ms, repeated_ms(device, record, repetitions));
        samples_us.push_back(all_ms * 1e3 / repetitions);
    }
    return samples_us;
}

} // namespace etna::kernels
