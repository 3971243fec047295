#pragma once

#include "cli/environment.hpp"
#include "core/base/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace etna::cli {

/// Returns the file that a shell would run for this name, by the variable PATH; empty: none.
std::filesystem::path find_executable(std::string_view name, const Variables& variables);

/// How a program is started.
struct ChildOptions {
    std::filesystem::path executable;
    std::vector<std::string> arguments; ///< without the program's name
    Variables variables;
};

/// A process started by this one; it is ended with SIGTERM, after ten seconds with SIGKILL, and waited for,
/// when the object is destroyed.
class ChildProcess {
public:
    /// Starts a program with this process's terminal and standard streams. Errors: io (it cannot be started).
    static Result<ChildProcess> start(const ChildOptions& options);

    /// A program in its own process group, so that Ctrl-C at the terminal does not reach it, and its output.
    struct Service;
    /// Starts a program that ends with this process, whatever ends this one. Its standard input is empty, its
    /// standard error goes to `log`, which is replaced. Errors: io.
    static Result<Service> start_service(const ChildOptions& options, const std::filesystem::path& log);

    /// Starts a program that outlives this process, in its own session, with empty standard streams. Returns
    /// once it runs. Errors: io (it cannot be started).
    static Status start_detached(const ChildOptions& options);

    ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ChildProcess& operator=(ChildProcess&&) = delete;
    ~ChildProcess();

    /// Waits for its end. A signal in `signals` is passed on. Returns its exit code; 128 plus the signal's
    /// number if a signal ended it.
    int wait(const EndSignal& signals);

private:
    explicit ChildProcess(pid_t id) : id_(id) {}

    pid_t id_; ///< 0: it has ended
};

struct ChildProcess::Service {
    ChildProcess process;
    std::string first_line; ///< of its standard output; empty: it has ended without one
};

} // namespace etna::cli
