#pragma once

#include "core/generate/devices.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace etna::cli {

using Variables = std::map<std::string, std::string, std::less<>>;

/// Everything that a command touches outside itself, so that tests can put something else in its place.
struct Environment {
    int input = 0; ///< file descriptors, borrowed
    int output = 1;
    int error = 2;
    bool input_is_terminal = false;
    bool output_is_terminal = false;
    bool error_is_terminal = false;
    Variables variables;
    generate::ExecutorFactory executor_factory;
    generate::DeviceLister device_lister;
    /// From the call on, Ctrl-C and SIGTERM no longer end the program but are told by the returned function;
    /// a second one ends it. Every call begins anew.
    std::function<generate::StopRequested()> watch_interrupts;
    /// Writes a question to the user's terminal and reads a line; empty where there is no terminal. May be
    /// absent.
    std::function<std::optional<std::string>(const std::string& question)> ask_at_terminal;
};

enum class ExitCode : int { done = 0, failed = 1, usage = 2, interrupted = 130 };

/// `etna` with these arguments (without the program's name). Blocking.
ExitCode run(std::span<const std::string> arguments, const Environment& environment);

} // namespace etna::cli
