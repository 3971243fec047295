#pragma once

#include "core/generate/devices.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/model.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace etna::cli {

using Variables = std::map<std::string, std::string, std::less<>>;

/// What a user said when asked.
struct TerminalAnswer {
    enum class Kind : uint8_t {
        line,
        nobody,  ///< there is no terminal
        stopped, ///< before a line was typed
    };
    Kind kind = Kind::nobody;
    std::string line = {};
};

/// The number of the signal that wants the program to end; 0 as long as none has come.
using EndSignal = std::function<int()>;

/// What a second Ctrl-C does while the first is watched for.
enum class SecondInterrupt : uint8_t { ends_program, is_told };

/// Everything that a command touches outside itself, so that tests can put something else in its place.
struct Environment {
    int input = 0; ///< file descriptors, borrowed
    int output = 1;
    int error = 2;
    bool input_is_terminal = false;
    bool output_is_terminal = false;
    bool error_is_terminal = false;
    /// Somebody sits there and types.
    [[nodiscard]] bool is_interactive() const {
        return input_is_terminal && (output_is_terminal || error_is_terminal);
    }
    Variables variables;
    generate::ExecutorFactory executor_factory;
    generate::DeviceLister device_lister;
    /// As long as the returned function or a copy of it lives, Ctrl-C and SIGTERM do not end the program but
    /// are told by it. Every call begins anew.
    std::function<generate::StopRequested(SecondInterrupt second)> watch_interrupts;
    /// Likewise of SIGTERM and SIGHUP, for a command that has something to bring to an end. What
    /// watch_interrupts() returns tells of them too. A second one ends the program.
    std::function<EndSignal()> watch_end_signals;
    /// Writes a question to the user's terminal and reads a line that is typed after it. Blocking, until
    /// `stop_requested` says so. May be absent.
    std::function<TerminalAnswer(const std::string& question, const generate::StopRequested& stop_requested)>
        ask_at_terminal;
};

/// From 129 on they are 128 and the number of the signal that ended the command, as shells count.
enum class ExitCode : int {
    done = 0,
    failed = 1,
    usage = 2,
    hung_up = 129,
    interrupted = 130,
    terminated = 143
};

/// The exit code of what EndSignal's signal ended; of what Ctrl-C did, where that tells of none.
ExitCode ended_by(int signal);

/// `etna` with these arguments (without the program's name). Blocking.
ExitCode run(std::span<const std::string> arguments, const Environment& environment);

} // namespace etna::cli
