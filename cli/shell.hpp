#pragma once

#include "core/base/result.hpp"
#include "core/generate/generate.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace etna::cli {

constexpr std::size_t shell_output_bytes_max = 1 << 20;
constexpr std::size_t shell_error_bytes_max = 1 << 16;

/// Why a command ended.
enum class ShellEnd : uint8_t {
    exited,
    stopped, ///< `stop_requested` said so
    out_of_time,
};

/// What a command wrote, and how it ended.
struct ShellOutcome {
    std::string output;
    std::string error_output; ///< the beginning, up to shell_error_bytes_max
    int exit_code = 0;        ///< 128 + N after signal N, as shells count
    bool is_cut = false;      ///< it wrote more than shell_output_bytes_max
    ShellEnd end = ShellEnd::exited;
};

struct ShellLimits {
    std::chrono::milliseconds time{0}; ///< 0: none
    /// From SIGTERM to SIGKILL, when it has to end.
    std::chrono::milliseconds grace{1000};
};

/// Runs `/bin/sh -c COMMAND` in a process group of its own and waits until it has ended and its output is
/// closed. `arguments` is the JSON text of an object: it comes on standard input, and every member that is no
/// list or object as `$arg_NAME` in the environment. `stop_requested` is asked about ten times a second;
/// then, or when the time is over, the whole group gets SIGTERM, and SIGKILL after the grace.
/// SIGPIPE must be ignored. Error: io.
Result<ShellOutcome> run_shell(const std::string& command, const std::string& arguments, ShellLimits limits,
                               const generate::StopRequested& stop_requested);

} // namespace etna::cli
