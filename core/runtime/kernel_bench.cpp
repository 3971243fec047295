#include "core/runtime/kernel_bench.hpp"

#include "core/kernels/kernel_rate.hpp"
#include "core/runtime/copy_rate.hpp"
#include "core/vk/device.hpp"

#include <fmt/format.h>

namespace etna::runtime {

Result<KernelTimings> bench_kernels(kernels::Library& library, const KernelBenchOptions& options) {
    std::vector<kernels::KernelProblem> problems = kernels::kernel_problems(library.target());
    std::erase_if(problems, [&](const kernels::KernelProblem& problem) {
        return problem.name.find(options.filter) == std::string::npos;
    });
    if (problems.empty()) {
        return Error{.kind = ErrorKind::not_found,
                     .message = fmt::format("no kernel is called `{}`", options.filter),
                     .hint = "use part of a name, such as linear, q4_k or attention"};
    }
    KernelTimings timings;
    timings.device_name = library.device().profile().name;
    ETNA_TRY(timings.copy_bytes_s, measure_copy_rate(library));
    for (std::size_t i = 0; i < problems.size(); ++i) {
        if (options.progress)
            options.progress(problems[i].name, i, problems.size());
        KernelTiming timing{.name = problems[i].name,
                            .bytes = problems[i].bytes,
                            .operations = problems[i].operations,
                            .samples_us = {}};
        auto samples = kernels::measure_kernel(library, problems[i]);
        if (!samples)
            return samples.error().while_doing("while measuring " + timing.name);
        timing.samples_us = std::move(*samples);
        timings.kernels.push_back(std::move(timing));
    }
    return timings;
}

} // namespace etna::runtime
