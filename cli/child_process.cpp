#include "cli/child_process.hpp"

#include "core/base/bytes.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr std::chrono::milliseconds wait_poll{20};
constexpr std::chrono::seconds end_limit{10}; ///< from SIGTERM to SIGKILL
constexpr std::size_t first_line_bytes_max = 4 * kibibyte;
constexpr int cannot_run = 127; ///< exit code of a child whose program cannot be run, as in shells

Error failed(const std::filesystem::path& executable) {
    return {ErrorKind::io, fmt::format("cannot start {}: {}", executable.string(), std::strerror(errno))};
}

/// Texts as exec() takes them.
class TextList {
public:
    explicit TextList(std::vector<std::string> texts) : texts_(std::move(texts)) {
        for (std::string& text : texts_)
            pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
    }
    [[nodiscard]] char* const* data() { return pointers_.data(); }

private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

TextList arguments_of(const ChildOptions& options) {
    std::vector<std::string> all = {options.executable.string()};
    all.insert(all.end(), options.arguments.begin(), options.arguments.end());
    return TextList(std::move(all));
}

TextList variables_of(const ChildOptions& options) {
    std::vector<std::string> all;
    for (const auto& [name, value] : options.variables)
        all.push_back(fmt::format("{}={}", name, value));
    return TextList(std::move(all));
}

/// A pipe that reports why exec() failed: it closes without data when the program runs.
class ExecReport {
public:
    /// Errors: io.
    static Result<ExecReport> create(const std::filesystem::path& executable) {
        ExecReport report;
        if (::pipe2(report.ends_.data(), O_CLOEXEC) != 0)
            return failed(executable);
        return report;
    }
    ExecReport(ExecReport&& other) noexcept : ends_(std::exchange(other.ends_, {-1, -1})) {}
    ExecReport(const ExecReport&) = delete;
    ExecReport& operator=(const ExecReport&) = delete;
    ExecReport& operator=(ExecReport&&) = delete;
    ~ExecReport() {
        for (const int end : ends_) {
            if (end >= 0)
                ::close(end);
        }
    }

    /// In the child, after exec() failed; safe after fork().
    [[noreturn]] void send(int error_number) const {
        (void)!::write(ends_[1], &error_number, sizeof error_number);
        ::_exit(cannot_run);
    }

    /// In the parent. Blocks until the child runs its program; 0: it does.
    int receive() {
        ::close(std::exchange(ends_[1], -1));
        int error_number = 0;
        while (::read(ends_[0], &error_number, sizeof error_number) < 0 && errno == EINTR) {
        }
        return error_number;
    }

private:
    ExecReport() = default;
    std::array<int, 2> ends_{-1, -1};
};

/// Restores the default handling of signals that this process ignores.
void reset_signals() {
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP})
        ::signal(number, SIG_DFL);
}

/// Reads up to a newline, or the end. Blocks.
std::string read_line(int descriptor) {
    std::string line;
    char character = 0;
    while (line.size() < first_line_bytes_max) {
        const ssize_t count = ::read(descriptor, &character, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0 || character == '\n')
            break;
        line += character;
    }
    return line;
}

} // namespace

std::filesystem::path find_executable(std::string_view name, const Variables& variables) {
    const auto path = variables.find("PATH");
    std::string_view folders = path == variables.end() ? std::string_view() : std::string_view(path->second);
    while (!folders.empty()) {
        const std::size_t end = std::min(folders.find(':'), folders.size());
        const std::filesystem::path file = std::filesystem::path(folders.substr(0, end)) / name;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0)
            return file;
        folders.remove_prefix(std::min(end + 1, folders.size()));
    }
    return {};
}

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
    TextList arguments = arguments_of(options);
    TextList variables = variables_of(options);
    ETNA_TRY(ExecReport report, ExecReport::create(options.executable));
    const pid_t id = ::fork();
    if (id < 0)
        return failed(options.executable);
    if (id == 0) { // only functions that are safe after fork()
        reset_signals();
        ::execve(options.executable.c_str(), arguments.data(), variables.data());
        report.send(errno);
    }
    ChildProcess process(id);
    errno = report.receive();
    if (errno != 0)
        return failed(options.executable);
    return process;
}

Result<ChildProcess::Service> ChildProcess::start_service(const ChildOptions& options,
                                                          const std::filesystem::path& log) {
    TextList arguments = arguments_of(options);
    TextList variables = variables_of(options);
    std::array<int, 2> output{};
    const int log_file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_file < 0)
        return failed(log);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::pipe2(output.data(), O_CLOEXEC) != 0)
        return failed(options.executable);
    const pid_t parent = ::getpid();
    const pid_t id = ::fork();
    if (id == 0) { // only functions that are safe after fork()
        reset_signals();
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (::getppid() != parent)
            ::_exit(cannot_run);
        ::dup2(input, STDIN_FILENO);
        ::dup2(output[1], STDOUT_FILENO);
        ::dup2(log_file, STDERR_FILENO);
        ::execve(options.executable.c_str(), arguments.data(), variables.data());
        ::_exit(cannot_run);
    }
    const int failure = errno;
    for (const int descriptor : {input, log_file, output[1]})
        ::close(descriptor);
    errno = failure;
    if (id < 0) {
        ::close(output[0]);
        return failed(options.executable);
    }
    Service service{.process = ChildProcess(id), .first_line = read_line(output[0])};
    ::close(output[0]);
    return service;
}

Status ChildProcess::start_detached(const ChildOptions& options) {
    TextList arguments = arguments_of(options);
    TextList variables = variables_of(options);
    ETNA_TRY(ExecReport report, ExecReport::create(options.executable));
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return failed(options.executable);
    const pid_t id = ::fork();
    if (id == 0) { // only functions that are safe after fork()
        reset_signals();
        ::setsid();
        const pid_t program = ::_Fork(); // is not this process's child, which would have to be waited for
        if (program > 0)
            ::_exit(0);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            ::dup2(null, stream);
        if (program == 0)
            ::execve(options.executable.c_str(), arguments.data(), variables.data());
        report.send(errno);
    }
    const int failure = errno;
    ::close(null);
    errno = failure;
    if (id < 0)
        return failed(options.executable);
    while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
    errno = report.receive();
    return errno == 0 ? Status() : failed(options.executable);
}

ChildProcess::~ChildProcess() {
    if (id_ == 0)
        return;
    ::kill(id_, SIGTERM);
    const auto end = std::chrono::steady_clock::now() + end_limit;
    wait([&] { return std::chrono::steady_clock::now() < end ? 0 : SIGKILL; });
}

int ChildProcess::wait(const EndSignal& signals) {
    constexpr int signal_base = 128;
    int passed_on = 0;
    int status = 0;
    while (true) {
        const pid_t ended = ::waitpid(id_, &status, signals ? WNOHANG : 0);
        if (ended == id_ || (ended < 0 && errno != EINTR))
            break;
        if (const int signal = signals ? signals() : 0; signal != 0 && signal != passed_on) {
            ::kill(id_, signal);
            passed_on = signal;
        }
        if (ended == 0)
            std::this_thread::sleep_for(wait_poll);
    }
    id_ = 0;
    return WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace etna::cli
