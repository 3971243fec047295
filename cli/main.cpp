#include "cli/environment.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/terminal_echo.hpp"
#include "core/runtime/runtime.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

extern char** environ;

namespace etna::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t end_signal = 0;
bool end_is_watched = false;

extern "C" void note_interrupt(int) {
    interrupted = 1;
}

/// Handler for SecondInterrupt::ends_program: restores the default effect of the signals, so that a second
/// one ends the program.
extern "C" void note_last_interrupt(int) {
    interrupted = 1;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action{};
        sigaction(number, nullptr, &action);
        if (action.sa_handler == note_last_interrupt)
            (void)std::signal(number, SIG_DFL);
    }
}

extern "C" void note_end(int number) {
    interrupted = 1;
    end_signal = number;
}

/// Installs a signal handler and restores the previous one at the end of the scope.
class Handler {
public:
    Handler(int number, void (*handle)(int), int flags) : number_(number) {
        struct sigaction action{};
        action.sa_handler = handle;
        action.sa_flags = flags;
        sigaction(number_, nullptr, &before_);
        if (before_.sa_handler != SIG_IGN) // stays ignored: nohup, or a background job of a script
            sigaction(number_, &action, nullptr);
    }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;
    ~Handler() { sigaction(number_, &before_, nullptr); }

private:
    int number_;
    struct sigaction before_{};
};

CancelPoll watch_interrupts(SecondInterrupt second) {
    interrupted = 0;
    const auto note = second == SecondInterrupt::ends_program ? note_last_interrupt : note_interrupt;
    const auto interrupt = std::make_shared<Handler>(SIGINT, note, SA_RESTART);
    if (end_is_watched)
        return [interrupt] { return interrupted != 0 || end_signal != 0; };
    const auto termination = std::make_shared<Handler>(SIGTERM, note, SA_RESTART);
    const auto hang_up = std::make_shared<Handler>(SIGHUP, note, SA_RESTART);
    return [interrupt, termination, hang_up] { return interrupted != 0; };
}

struct EndWatch {
    static constexpr int flags = SA_RESETHAND | SA_RESTART;
    Handler termination{SIGTERM, note_end, flags};
    Handler hang_up{SIGHUP, note_end, flags};
    EndWatch() { end_is_watched = true; }
    EndWatch(const EndWatch&) = delete;
    EndWatch& operator=(const EndWatch&) = delete;
    ~EndWatch() { end_is_watched = false; }
};

EndSignal watch_end_signals() {
    end_signal = 0;
    return [watch = std::make_shared<EndWatch>()] { return static_cast<int>(end_signal); };
}

TerminalAnswer read_answer(int terminal, const std::string& question, const CancelPoll& is_cancelled) {
    constexpr int poll_ms = 100; // a signal delivered to another thread does not interrupt poll()
    const TerminalEcho echo(terminal, Echo::on);
    Output output(terminal);
    ::tcflush(terminal, TCIFLUSH); // discard input typed before the question
    output.write(question);
    TerminalAnswer answer = {.kind = TerminalAnswer::Kind::line};
    for (char character = 0; character != '\n';) {
        if (is_cancelled && is_cancelled()) {
            answer.kind = TerminalAnswer::Kind::stopped;
            output.write("\n");
            break;
        }
        pollfd typed{terminal, POLLIN, 0};
        if (::poll(&typed, 1, poll_ms) <= 0)
            continue;
        if (::read(terminal, &character, 1) != 1)
            break;
        if (character != '\n')
            answer.line += character;
    }
    return answer;
}

TerminalAnswer ask_at_terminal(const std::string& question, const CancelPoll& is_cancelled) {
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return {.kind = TerminalAnswer::Kind::no_terminal};
    TerminalAnswer answer = read_answer(terminal, question, is_cancelled);
    ::close(terminal);
    return answer;
}

void open_standard_streams() {
    for (const int descriptor : {0, 1, 2}) {
        if (::fcntl(descriptor, F_GETFD) == -1) {
            (void)::open("/dev/null",
                         O_RDONLY); // takes the lowest free descriptor; writes to it fail, as intended
        }
    }
}

Variables variables() {
    Variables result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (const std::size_t equals = text.find('='); equals != std::string::npos)
            result.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return result;
}

} // namespace

Environment process_environment() {
    open_standard_streams();
    (void)std::signal(SIGPIPE, SIG_IGN);
    (void)std::signal(SIGXFSZ,
                      SIG_IGN); // a write beyond the file size limit then fails with an error
    Environment environment;
    environment.input_is_terminal = ::isatty(STDIN_FILENO) == 1;
    environment.output_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    environment.error_is_terminal = ::isatty(STDERR_FILENO) == 1;
    environment.variables = variables();
    const auto checks = environment.variables.find("ETNA_CHECKS"); // for the tests
    const bool is_checked = checks != environment.variables.end() && checks->second == "1";
    const auto runtime =
        std::make_shared<runtime::Runtime>(is_checked ? runtime::Checks::on : runtime::Checks::off);
    environment.executor_factory = [runtime](const auto& file, const auto& options) {
        return runtime->load(file, options);
    };
    environment.device_lister = [runtime](std::string_view device, const auto& cache_folder) {
        return runtime->list(device, cache_folder);
    };
    environment.kernel_bench = [runtime](const auto& options) { return runtime->bench(options); };
    environment.rate_meter = [runtime](const auto& request) { return runtime->rates(request); };
    environment.model_tuner = [runtime](const auto& file, const auto& request) {
        return runtime->tune(file, request);
    };
    environment.tuning_reset = [runtime](std::string_view device, const auto& cache_folder) {
        return runtime->forget_tuning(device, cache_folder);
    };
    environment.watch_interrupts = watch_interrupts;
    environment.watch_end_signals = watch_end_signals;
    environment.ask_at_terminal = ask_at_terminal;
    return environment;
}

} // namespace etna::cli

int main(int argument_count, char** arguments) {
    try {
        const std::vector<std::string> given(arguments + (argument_count > 0 ? 1 : 0),
                                             arguments + argument_count);
        return static_cast<int>(etna::cli::run(given, etna::cli::process_environment()));
    } catch (const std::bad_alloc&) { // formatting a message might need memory again
        std::fputs("error: out of memory\nhint: free some, or use a shorter prompt or a smaller model\n",
                   stderr);
        return static_cast<int>(etna::cli::ExitCode::failed);
    } catch (const std::exception& error) { // thrown by a library: etna's own errors are values
        std::fprintf(stderr, "error: unexpected failure: %s\nhint: this is a bug in etna; please report it\n",
                     error.what());
        return static_cast<int>(etna::cli::ExitCode::failed);
    }
}
