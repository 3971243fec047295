#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/generate/generation.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace etna::cli {

constexpr std::size_t shell_output_bytes_max = 1 << 20;
constexpr std::size_t shell_error_bytes_max = 1 << 16;

/// The cause of a command's end.
enum class ShellEnd : uint8_t {
    exited,
    stopped, ///< `is_cancelled` returned true
    out_of_time,
};

/// A command's output and the way it ended.
struct ShellOutcome {
    std::string output;
    std::string error_output; ///< the first shell_error_bytes_max bytes
    int exit_code = 0;        ///< 128 + N after signal N, as in shells
    bool is_cut = false;      ///< the command wrote more than shell_output_bytes_max
    ShellEnd end = ShellEnd::exited;
};

struct ShellLimits {
    std::chrono::milliseconds time{0}; ///< 0: no limit
    /// Delay from SIGTERM to SIGKILL when the command has to end.
    std::chrono::milliseconds grace{1000};
};

/// Runs `/bin/sh -c COMMAND` in its own process group and blocks until it has ended and its output is closed.
/// `arguments` is the JSON text of an object, passed on standard input; every member that is not a list or
/// object is also passed as `$arg_NAME` in the environment. `is_cancelled` is polled about ten times a
/// second; when it returns true or the time is over, the group gets SIGTERM, and SIGKILL after the grace
/// period. SIGPIPE must be ignored. Errors: io.
Result<ShellOutcome> run_shell(const std::string& command, const std::string& arguments, ShellLimits limits,
                               const CancelPoll& is_cancelled);

} // namespace etna::cli
