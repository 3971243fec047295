#include "core/runtime/copy_rate.hpp"

#include "core/base/bytes.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/recorder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>

namespace etna::runtime {
namespace {

constexpr uint64_t gpu_copy_bytes = 512 * mebibyte; ///< larger than the caches of GPUs
constexpr uint64_t cpu_copy_bytes = 128 * mebibyte;
constexpr uint32_t moves_each = 2; ///< in one submission
constexpr std::size_t samples = 5;

uint64_t copy_bytes(const vk::Device& device) {
    const vk::DeviceProfile& profile = device.profile();
    const uint64_t wanted = profile.type == vk::DeviceType::cpu ? cpu_copy_bytes : gpu_copy_bytes;
    const uint64_t allowed = std::min(device.memory().free_bytes / 16, profile.allocation_bytes_max / 2);
    return std::max<uint64_t>(std::min(wanted, allowed) / mebibyte, 1) * mebibyte;
}

/// Fills a buffer: memory that was never written may be one page of zeros, which stays in a cache.
Status fill(vk::Device& device, const vk::Buffer& buffer) {
    constexpr uint32_t word = 0x9E3779B9U;
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device));
    recorder.fill(buffer, 0, buffer.bytes(), word);
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(const uint64_t done_at, device.submit(std::move(commands)));
    return device.wait(done_at);
}

/// Work on two buffers of `bytes`.
using Move = std::function<void(vk::Recorder&)>;

/// Returns the milliseconds that the device needs for moves_each moves.
Result<double> move_ms(vk::Device& device, const Move& move) {
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device));
    for (uint32_t i = 0; i < moves_each; ++i) {
        move(recorder);
        recorder.barrier();
    }
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(const uint64_t done_at, device.submit(std::move(commands)));
    ETNA_CHECK(device.wait(done_at));
    return device.busy_ms(done_at);
}

/// Returns moves per second.
Result<double> moves_s(vk::Device& device, const Move& move) {
    ETNA_CHECK(move_ms(device, move)); // the first write maps the pages
    std::array<double, samples> times_ms{};
    for (double& one : times_ms) {
        ETNA_TRY(one, move_ms(device, move));
    }
    std::sort(times_ms.begin(), times_ms.end());
    return moves_each / (times_ms[samples / 2] / 1e3);
}

} // namespace

Result<double> measure_copy_rate(kernels::Library& library) {
    vk::Device& device = library.device();
    const uint64_t bytes = copy_bytes(device);
    ETNA_TRY(const vk::Buffer from,
             vk::Buffer::create(device, vk::MemoryDomain::device, bytes, "copy rate source"));
    ETNA_TRY(const vk::Buffer to,
             vk::Buffer::create(device, vk::MemoryDomain::device, bytes, "copy rate target"));
    ETNA_CHECK(fill(device, from));
    ETNA_TRY(const double copies_s,
             moves_s(device, [&](vk::Recorder& recorder) { recorder.copy(from, 0, to, 0, bytes); }));
    constexpr uint32_t columns = 4096;
    const auto rows_of = [](const vk::Buffer& buffer) {
        return kernels::Activations{.range = buffer.range(), .columns = columns, .stride = columns};
    };
    const auto rows = static_cast<uint32_t>(bytes / (columns * sizeof(float)));
    ETNA_TRY(const double products_s, moves_s(device, [&](vk::Recorder& recorder) {
                 kernels::gate_multiply({library, recorder},
                                        {.gate = rows_of(to), .up = rows_of(from), .count = rows});
             }));
    return static_cast<double>(bytes) * std::max(2 * copies_s, 3 * products_s);
}

} // namespace etna::runtime
