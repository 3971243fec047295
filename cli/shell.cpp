#include "cli/shell.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace etna::cli {
namespace {

constexpr int poll_ms = 100;
constexpr std::size_t block_bytes = 16384;

Error failed(std::string_view what) {
    return {ErrorKind::io, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() { close(); }

    void close() {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

struct Pipe {
    Descriptor read;
    Descriptor write;
};

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return failed("make a pipe");
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// NAME of a member, with what cannot stand in a variable's name replaced.
std::string variable_name(const std::string& name) {
    std::string result = "arg_";
    for (const char letter : name) {
        const bool fits = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                          (letter >= 'A' && letter <= 'Z');
        result += fits ? letter : '_';
    }
    return result;
}

std::vector<std::string> variables_of(const std::string& arguments) {
    std::vector<std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        variables.emplace_back(*entry);
    const auto json = nlohmann::ordered_json::parse(arguments, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object())
        return variables;
    for (const auto& [name, value] : json.items()) {
        std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
        if (!value.is_structured())
            variables.push_back(variable_name(name) + "=" + text);
    }
    return variables;
}

/// The child in a process group of its own, so that its children end with it.
Result<pid_t> spawn(const std::string& command, std::vector<std::string> variables, int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    posix_spawnattr_setsigdefault(&attributes, &usual);
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

/// Feeds and reads a child until it closes its output.
class Exchange {
public:
    Exchange(Descriptor input, Descriptor output, std::string_view text)
        : input_(std::move(input)), output_(std::move(output)), text_(text) {
        ::fcntl(input_.number(), F_SETFL, O_NONBLOCK);
    }

    /// False when `stop_requested` said so.
    bool run(const generate::StopRequested& stop_requested, ShellOutcome& outcome) {
        while (output_.number() >= 0) {
            if (stop_requested && stop_requested())
                return false;
            std::array<pollfd, 2> watched = {{{output_.number(), POLLIN, 0}, {input_.number(), POLLOUT, 0}}};
            if (::poll(watched.data(), watched.size(), poll_ms) <= 0)
                continue;
            if (watched[1].revents != 0)
                feed();
            if (watched[0].revents != 0)
                read(outcome);
        }
        return true;
    }

private:
    void feed() {
        const ssize_t count = ::write(input_.number(), text_.data(), text_.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        text_.remove_prefix(count < 0 ? text_.size() : static_cast<std::size_t>(count));
        if (text_.empty())
            input_.close(); // poll() passes over a descriptor of -1
    }

    void read(ShellOutcome& outcome) {
        std::array<char, block_bytes> block;
        const ssize_t count = ::read(output_.number(), block.data(), block.size());
        if (count < 0 && errno == EINTR)
            return;
        if (count <= 0) {
            output_.close();
            return;
        }
        const std::size_t room = shell_output_bytes_max - outcome.output.size();
        outcome.is_cut = outcome.is_cut || static_cast<std::size_t>(count) > room;
        outcome.output.append(block.data(), std::min(static_cast<std::size_t>(count), room));
    }

    Descriptor input_;
    Descriptor output_;
    std::string_view text_;
};

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

Result<ShellOutcome> run_shell(const std::string& command, const std::string& arguments,
                               const generate::StopRequested& stop_requested) {
    ETNA_TRY(Pipe input, make_pipe());
    ETNA_TRY(Pipe output, make_pipe());
    ETNA_TRY(const pid_t child,
             spawn(command, variables_of(arguments), input.read.number(), output.write.number()));
    input.read.close();
    output.write.close();
    ShellOutcome outcome;
    Exchange exchange(std::move(input.write), std::move(output.read), arguments);
    if (!exchange.run(stop_requested, outcome)) {
        outcome.is_stopped = true;
        ::kill(-child, SIGKILL);
    }
    outcome.exit_code = wait_for(child);
    return outcome;
}

} // namespace etna::cli
