#include "core/runtime/device_rates.hpp"

#include "core/kernels/kernel_rate.hpp"
#include "core/kernels/matrix_rate.hpp"
#include "core/kernels/operations/gate_multiply.hpp"
#include "core/runtime/copy_rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace etna::runtime {
namespace {

/// Returns the microseconds of one row of the smallest kernel.
Result<double> measure_dispatch_us(kernels::Library& library) {
    constexpr uint32_t columns = 1024;
    const kernels::KernelProblem problem{
        .name = "dispatch",
        .bytes = kernels::float_bytes(3 * uint64_t{columns}),
        .prepare = [&](kernels::ProblemMemory& memory) -> kernels::RecordRepetition {
            const kernels::GateMultiply operation{
                .gate = memory.rows(1, columns), .up = memory.rows(1, columns), .count = 1};
            return [&library, operation](vk::Recorder& recorder, uint32_t /*repetition*/) {
                kernels::gate_multiply({library, recorder}, operation);
            };
        }};
    ETNA_TRY(std::vector<double> samples_us, kernels::measure_kernel(library, problem));
    std::ranges::sort(samples_us);
    return samples_us[samples_us.size() / 2];
}

using StoredRates = std::array<double, 3>;

} // namespace

Result<DeviceRates> measure_rates(kernels::Library& library, const RateProgress& progress) {
    const auto report = [&](std::string_view what) {
        if (progress)
            progress(what);
    };
    DeviceRates rates;
    report("copy rate");
    ETNA_TRY(rates.copy_bytes_s, measure_copy_rate(library));
    report("matrix rate");
    ETNA_TRY(rates.matrix_flop_s, kernels::measure_matrix_rate(library));
    report("cost of a dispatch");
    ETNA_TRY(rates.dispatch_us, measure_dispatch_us(library));
    return rates;
}

std::optional<DeviceRates> read_rates(const DeviceFile& file) {
    const std::vector<std::byte> content = file.read();
    StoredRates stored{};
    if (content.size() != sizeof(stored))
        return std::nullopt;
    std::memcpy(stored.data(), content.data(), sizeof(stored));
    if (!std::ranges::all_of(stored, [](double rate) { return std::isfinite(rate) && rate > 0; }))
        return std::nullopt;
    return DeviceRates{.copy_bytes_s = stored[0], .matrix_flop_s = stored[1], .dispatch_us = stored[2]};
}

DeviceRates best_of(const DeviceRates& one, const DeviceRates& other) {
    return {.copy_bytes_s = std::max(one.copy_bytes_s, other.copy_bytes_s),
            .matrix_flop_s = std::max(one.matrix_flop_s, other.matrix_flop_s),
            .dispatch_us = std::min(one.dispatch_us, other.dispatch_us)};
}

void write_rates(const DeviceFile& file, const DeviceRates& rates) {
    const StoredRates stored = {rates.copy_bytes_s, rates.matrix_flop_s, rates.dispatch_us};
    file.write(std::as_bytes(std::span(stored)));
}

SpeedEstimate estimate_speed(const DeviceRates& rates, const TokenCost& cost) {
    const double product_s = 2 * cost.weights / rates.matrix_flop_s;
    const double token_s =
        std::max(cost.bytes / rates.copy_bytes_s, product_s) + cost.dispatches * rates.dispatch_us / 1e6;
    return {.generation_tok_s = 1 / token_s, .prompt_tok_s = 1 / product_s};
}

} // namespace etna::runtime
