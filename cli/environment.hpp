#pragma once

#include "core/base/cancel.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"
#include "core/runtime/device_rates.hpp"
#include "core/runtime/devices.hpp"
#include "core/runtime/kernel_bench.hpp"
#include "core/runtime/tuning.hpp"
#include "core/store/foreign_models.hpp"
#include "core/store/http_client.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>

namespace etna::cli {

using Variables = std::map<std::string, std::string, std::less<>>;

/// A user's answer to a question at the terminal.
struct TerminalAnswer {
    enum class Kind : uint8_t {
        line,
        no_terminal,
        stopped, ///< before a line was typed
    };
    Kind kind = Kind::no_terminal;
    std::string line = {};

    [[nodiscard]] bool is_yes() const; ///< "y" or "yes", also in capitals
};

/// Returns the number of the signal that asked the program to end; 0 if none has arrived.
using EndSignal = std::function<int()>;

/// Effect of a second Ctrl-C during a watch.
enum class SecondInterrupt : uint8_t { ends_program, is_reported };

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
    runtime::KernelBench kernel_bench;
    runtime::RateMeter rate_meter;
    runtime::ModelTuner model_tuner;
    runtime::TuningReset tuning_reset;
    /// While the returned function or a copy of it lives, SIGINT, SIGTERM and SIGHUP do not end the program;
    /// the function reports them. A signal that was ignored before stays ignored: `nohup`. Each call starts a
    /// new watch.
    std::function<CancelPoll(SecondInterrupt second)> watch_interrupts;
    /// As watch_interrupts, for SIGTERM and SIGHUP, for a command that has to shut down cleanly. The function
    /// from watch_interrupts() reports these too. A second signal ends the program.
    std::function<EndSignal()> watch_end_signals;
    /// Writes a question to the user's terminal and reads a line. Blocks until an answer or until
    /// `is_cancelled` returns true. May be absent.
    std::function<TerminalAnswer(const std::string& question, const CancelPoll& is_cancelled)>
        ask_at_terminal;
};

/// From 129 on: 128 plus the number of the signal that ended the command, as in shells.
enum class ExitCode : int {
    done = 0,
    failed = 1,
    usage = 2,
    lines_failed = 65, ///< a batch is complete, and some of its lines failed (EX_DATAERR of sysexits.h)
    incomplete = 75,   ///< a batch was stopped; the same command continues it (EX_TEMPFAIL)
    hung_up = 129,
    interrupted = 130,
    terminated = 143
};

/// Returns the exit code for an EndSignal value; 0 means that Ctrl-C ended the command.
ExitCode exit_code_for_signal(int signal);

/// Runs `etna` with these arguments (without the program's name). Blocking.
ExitCode run(std::span<const std::string> arguments, const Environment& environment);

/// $ETNA_MODELS or $XDG_DATA_HOME/etna/models, $XDG_CACHE_HOME/etna and $XDG_CONFIG_HOME/etna/config.toml,
/// with the defaults below $HOME that the XDG Base Directory Specification names. Relative values are
/// ignored, as the specification requires; without an absolute $HOME either, the path is empty.
std::filesystem::path models_folder(const Variables& variables);
std::filesystem::path cache_folder(const Variables& variables);
std::filesystem::path config_file(const Variables& variables);

/// Returns where other programs store models, by their own variables and defaults: $HF_HUB_CACHE, $HF_HOME,
/// $LLAMA_CACHE and $OLLAMA_MODELS.
store::ForeignFolders foreign_folders(const Variables& variables);

/// $XDG_DATA_HOME/etna/responses.db; empty if the folder is unknown.
std::filesystem::path responses_file(const Variables& variables);

/// $XDG_RUNTIME_DIR/etna, else $XDG_STATE_HOME/etna/run: where running servers are listed. Empty if neither
/// folder is known.
std::filesystem::path runtime_folder(const Variables& variables);

/// Expands a leading `~/`, or `~` alone, to $HOME, as a shell does, if $HOME is set.
std::string expand_home(const std::string& path, const Variables& variables);

/// The first of these variables that is set and not empty; otherwise empty.
std::string first_variable(const Variables& variables, std::initializer_list<const char*> names);

/// Proxies and certificates, from the variables that curl reads.
store::HttpSettings network_settings(const Variables& variables);

/// $XDG_STATE_HOME/etna/history; empty if the folder is unknown.
std::filesystem::path history_file(const Variables& variables);

/// Returns the environment of this process: its streams, terminal, variables and signals, and Vulkan devices.
/// Sets SIGPIPE to ignored and opens descriptors 0 to 2 if they are closed, so that no file of etna's is
/// mistaken for a standard stream.
Environment process_environment(); // defined in main.cpp

} // namespace etna::cli
