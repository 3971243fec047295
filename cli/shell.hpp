#pragma once

#include "core/base/result.hpp"
#include "core/generate/generate.hpp"

#include <cstddef>
#include <string>

namespace etna::cli {

constexpr std::size_t shell_output_bytes_max = 1 << 20;

/// What a command wrote to its standard output.
struct ShellOutcome {
    std::string output;
    int exit_code = 0;   ///< 128 + N after signal N, as shells count
    bool is_cut = false; ///< it wrote more than shell_output_bytes_max
    bool is_stopped = false;
};

/// Runs `/bin/sh -c COMMAND` and waits for it. `arguments` is the JSON text of an object: it comes on
/// standard input, and every member that is no list or object as `$arg_NAME` in the environment. Standard
/// error is ours. `stop_requested` is asked about ten times a second; then the command and its children are
/// ended. Error: io.
Result<ShellOutcome> run_shell(const std::string& command, const std::string& arguments,
                               const generate::StopRequested& stop_requested);

} // namespace etna::cli
