#include "cli/bench/kernel_report.hpp"

#include "cli/bench/bench_report.hpp"
#include "cli/bench/text_table.hpp"

#include <fmt/format.h>

namespace etna::cli {
namespace {

double per_second(uint64_t count, const Spread& time_us) {
    return time_us.median == 0 ? 0 : static_cast<double>(count) / (time_us.median / 1e6);
}

double share_of_copies(const runtime::KernelTimings& timings, const runtime::KernelTiming& kernel) {
    return per_second(kernel.bytes, spread_of(kernel.samples_us)) / timings.copy_bytes_s;
}

} // namespace

std::string kernels_text(const runtime::KernelTimings& timings) {
    TextTable table = {{"kernel", "us", "GB/s", "of copies", "TFLOP/s"}};
    for (const runtime::KernelTiming& kernel : timings.kernels) {
        const Spread time_us = spread_of(kernel.samples_us);
        const double flops = per_second(kernel.operations, time_us);
        table.push_back({kernel.name,
                         fmt::format("{:.1f} ±{:.0f}%", time_us.median, time_us.half_range() * 100),
                         fmt::format("{:.2f}", per_second(kernel.bytes, time_us) / 1e9),
                         fmt::format("{:.0f}%", share_of_copies(timings, kernel) * 100),
                         kernel.operations == 0 ? "-" : fmt::format("{:.3f}", flops / 1e12)});
    }
    return fmt::format("{}, copies {:.2f} GB/s\n", timings.device_name, timings.copy_bytes_s / 1e9) +
           aligned(table, FirstColumn::left);
}

Json kernels_json(const runtime::KernelTimings& timings) {
    Json kernels = Json::array();
    for (const runtime::KernelTiming& kernel : timings.kernels) {
        const Spread time_us = spread_of(kernel.samples_us);
        kernels.push_back(
            {{"bytes", kernel.bytes},
             {"bytes_of_copy_rate", share_of_copies(timings, kernel)},
             {"bytes_s", per_second(kernel.bytes, time_us)},
             {"flop_s", kernel.operations == 0 ? Json() : Json(per_second(kernel.operations, time_us))},
             {"name", kernel.name},
             {"us", {{"max", time_us.max}, {"median", time_us.median}, {"min", time_us.min}}}});
    }
    return {{"copy_bytes_s", timings.copy_bytes_s}, {"device", timings.device_name}, {"kernels", kernels}};
}

} // namespace etna::cli
