#pragma once

#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"
#include "core/runtime/devices.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace etna::cli {

using Variables = std::map<std::string, std::string, std::less<>>;

/// A user's answer to a question at the terminal.
struct TerminalAnswer {
    enum class Kind : uint8_t {
        line,
        nobody,  ///< there is no terminal
        stopped, ///< before a line was typed
    };
    Kind kind = Kind::nobody;
    std::string line = {};
};

/// Returns the number of the signal that asked the program to end; 0 if none has arrived.
using EndSignal = std::function<int()>;

/// Effect of a second Ctrl-C during a watch.
enum class SecondInterrupt : uint8_t { ends_program, is_told };

/// Everything external that a command uses, so that tests can replace it.
struct Environment {
    int input = 0; ///< file descriptors, borrowed
    int output = 1;
    int error = 2;
    bool input_is_terminal = false;
    bool output_is_terminal = false;
    bool error_is_terminal = false;
    /// Returns whether a user is typing at a terminal.
    [[nodiscard]] bool is_interactive() const {
        return input_is_terminal && (output_is_terminal || error_is_terminal);
    }
    Variables variables;
    runtime::ExecutorFactory executor_factory;
    runtime::DeviceLister device_lister;
    /// While the returned function or a copy of it lives, SIGINT and SIGTERM do not end the program; the
    /// function reports them. Each call starts a new watch.
    std::function<generate::CancelPoll(SecondInterrupt second)> watch_interrupts;
    /// As watch_interrupts, for SIGTERM and SIGHUP, for a command that has to shut down cleanly. The function
    /// from watch_interrupts() reports these too. A second signal ends the program.
    std::function<EndSignal()> watch_end_signals;
    /// Writes a question to the user's terminal and reads a line. Blocks until an answer or until
    /// `is_cancelled` returns true. May be absent.
    std::function<TerminalAnswer(const std::string& question, const generate::CancelPoll& is_cancelled)>
        ask_at_terminal;
};

/// From 129 on: 128 plus the number of the signal that ended the command, as in shells.
enum class ExitCode : int {
    done = 0,
    failed = 1,
    usage = 2,
    hung_up = 129,
    interrupted = 130,
    terminated = 143
};

/// Returns the exit code for an EndSignal value; 0 means that Ctrl-C ended the command.
ExitCode ended_by(int signal);

/// Runs `etna` with these arguments (without the program's name). Blocking.
ExitCode run(std::span<const std::string> arguments, const Environment& environment);

} // namespace etna::cli
