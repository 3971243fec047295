#include "cli/tools/shell.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace etna::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int shell_poll_ms = 100; ///< polling interval for the child's end and `is_cancelled`
constexpr int quick_poll_ms = 10;  ///< once the output is closed, because the child is about to end
constexpr std::size_t pipe_block_bytes = 16384;

Error failed(std::string_view what) {
    return {ErrorKind::io, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

class PipeEnd {
public:
    explicit PipeEnd(int number) : number_(number) {}
    PipeEnd(PipeEnd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    PipeEnd(const PipeEnd&) = delete;
    PipeEnd& operator=(const PipeEnd&) = delete;
    PipeEnd& operator=(PipeEnd&&) = delete;
    ~PipeEnd() { close(); }

    void close() {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

struct Pipe {
    PipeEnd read;
    PipeEnd write;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return failed("make a pipe");
    return Pipe{PipeEnd(ends[0]), PipeEnd(ends[1])};
}

/// Returns arg_NAME for a member, with characters that a variable name cannot contain replaced.
std::string variable_name(const std::string& name) {
    std::string result = "arg_";
    for (const char character : name) {
        const bool fits = (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
                          (character >= 'A' && character <= 'Z');
        result += fits ? character : '_';
    }
    return result;
}

std::vector<std::string> variables_of(const std::string& arguments) {
    std::vector<std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        variables.emplace_back(*entry);
    const auto json = parse_json(arguments);
    if (!json.is_object())
        return variables;
    for (const auto& [name, value] : json.items()) {
        std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
        text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
        if (!value.is_structured())
            variables.push_back(variable_name(name) + "=" + text);
    }
    return variables;
}

struct ChildStreams {
    int input;
    int output;
    int error;
};

/// Spawns the child in its own process group, so that its children end with it.
Result<pid_t> spawn(const std::string& command, std::vector<std::string> variables,
                    const ChildStreams& streams) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, streams.input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, streams.error, STDERR_FILENO);
    sigset_t default_signals;
    sigemptyset(&default_signals);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP})
        sigaddset(&default_signals, number);
    posix_spawnattr_setsigdefault(&attributes, &default_signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

    std::string shell = "/bin/sh";
    std::string option = "-c";
    std::string text = command;
    std::array<char*, 4> arguments = {shell.data(), option.data(), text.data(), nullptr};
    std::vector<char*> entries;
    entries.reserve(variables.size() + 1);
    for (std::string& variable : variables)
        entries.push_back(variable.data());
    entries.push_back(nullptr);
    pid_t child = 0;
    errno = ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments.data(), entries.data());
    const int failure = errno;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = failure;
    if (failure != 0)
        return failed("start /bin/sh");
    return child;
}

/// Appends the available bytes, up to `bytes_max` in total. Returns false if there were more.
bool read_some(PipeEnd& from, std::string& text, std::size_t bytes_max) {
    std::array<char, pipe_block_bytes> block;
    const ssize_t count = ::read(from.number(), block.data(), block.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (count <= 0) {
        from.close();
        return true;
    }
    const std::size_t fits = std::min(static_cast<std::size_t>(count), bytes_max - text.size());
    text.append(block.data(), fits);
    return fits == static_cast<std::size_t>(count);
}

/// A running child process: writes its input, reads its output and ends it if necessary.
class Child {
public:
    Child(pid_t id, PipeEnd input, PipeEnd output, PipeEnd error, std::string_view text)
        : id_(id), input_(std::move(input)), output_(std::move(output)), error_(std::move(error)),
          text_(text) {
        ::fcntl(input_.number(), F_SETFL, O_NONBLOCK);
    }

    ShellOutcome run(ShellLimits limits, const CancelPoll& is_cancelled) {
        const auto begin = Clock::now();
        while (!has_ended()) {
            const auto now = Clock::now();
            if (terminated_at_ == Clock::time_point()) {
                if (is_cancelled && is_cancelled()) {
                    terminate(ShellEnd::stopped);
                } else if (limits.time.count() > 0 && now - begin >= limits.time) {
                    terminate(ShellEnd::out_of_time);
                }
            } else if (now - terminated_at_ >= limits.grace) {
                ::kill(-id_, SIGKILL);
                break; // a process that left the group may still hold the output open
            }
            exchange();
        }
        outcome_.exit_code = wait();
        return std::move(outcome_);
    }

private:
    [[nodiscard]] bool is_silent() const { return output_.number() < 0 && error_.number() < 0; }

    /// Does not reap the child, so that its pid is not reused before wait().
    [[nodiscard]] bool has_ended() const {
        siginfo_t information{};
        return is_silent() &&
               ::waitid(P_PID, static_cast<id_t>(id_), &information, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               information.si_pid == id_;
    }

    void terminate(ShellEnd why) {
        outcome_.end = why;
        terminated_at_ = Clock::now();
        ::kill(-id_, SIGTERM);
        ::kill(-id_, SIGCONT); // it may be stopped, waiting for the terminal
    }

    void exchange() {
        std::array<pollfd, 3> watched = {{{output_.number(), POLLIN, 0},
                                          {error_.number(), POLLIN, 0},
                                          {input_.number(), POLLOUT, 0}}}; // poll() ignores -1
        if (::poll(watched.data(), watched.size(), is_silent() ? quick_poll_ms : shell_poll_ms) <= 0)
            return;
        if (watched[2].revents != 0)
            feed();
        if (watched[0].revents != 0 && !read_some(output_, outcome_.output, shell_output_bytes_max))
            outcome_.is_cut = true;
        if (watched[1].revents != 0)
            read_some(error_, outcome_.error_output, shell_error_bytes_max);
    }

    void feed() {
        const ssize_t count = ::write(input_.number(), text_.data(), text_.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        text_.remove_prefix(count < 0 ? text_.size() : static_cast<std::size_t>(count));
        if (text_.empty())
            input_.close();
    }

    [[nodiscard]] int wait() const {
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
        }
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

    pid_t id_; ///< of the process and of its group
    PipeEnd input_;
    PipeEnd output_;
    PipeEnd error_;
    std::string_view text_; ///< input not written yet
    Clock::time_point terminated_at_;
    ShellOutcome outcome_;
};

} // namespace

Result<ShellOutcome> run_shell(const std::string& command, const std::string& arguments, ShellLimits limits,
                               const CancelPoll& is_cancelled) {
    ETNA_TRY(Pipe input, make_pipe());
    ETNA_TRY(Pipe output, make_pipe());
    ETNA_TRY(Pipe error, make_pipe());
    ETNA_TRY(const pid_t id, spawn(command, variables_of(arguments),
                                   {input.read.number(), output.write.number(), error.write.number()}));
    input.read.close();
    output.write.close();
    error.write.close();
    Child child(id, std::move(input.write), std::move(output.read), std::move(error.read), arguments);
    return child.run(limits, is_cancelled);
}

} // namespace etna::cli
