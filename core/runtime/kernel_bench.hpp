#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace etna::runtime {

/// The speed of one operation on one shape.
struct KernelTiming {
    std::string name;        ///< kernels::KernelProblem's
    uint64_t bytes = 0;      ///< that it must read and write
    uint64_t operations = 0; ///< 0: not counted
    std::vector<double> samples_us;
};

struct KernelTimings {
    std::string device_name;
    double copy_bytes_s = 0; ///< see measure_copy_rate()
    std::vector<KernelTiming> kernels;
};

struct KernelBenchOptions {
    std::string device;                 ///< as for ExecutorOptions
    std::string filter;                 ///< part of the names of the operations to measure; empty: all
    std::filesystem::path cache_folder; ///< as for ExecutorOptions
    kernels::Precision precision = kernels::Precision::exact;
    /// Called before each operation, with its number from 0; may be empty.
    std::function<void(const std::string& name, std::size_t number, std::size_t total)> progress;
};

/// Measures operations at the shapes of real models.
using KernelBench = std::function<Result<KernelTimings>(const KernelBenchOptions&)>;

/// Measures every operation whose name contains the filter, and the copy rate of the library's device.
/// Blocks. Errors: not_found (no name contains the filter), and those of kernels::measure_kernel().
Result<KernelTimings> bench_kernels(kernels::Library& library, const KernelBenchOptions& options);

} // namespace etna::runtime
