#include "cli/process_environment.hpp"

#include "cli/output.hpp"
#include "core/generate/device.hpp"

#include <csignal>

#include <fcntl.h>
#include <unistd.h>

extern char** environ;

namespace etna::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void note_interrupt(int) {
    interrupted = 1;
}

generate::StopRequested watch_interrupts() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = note_interrupt;
    action.sa_flags = SA_RESETHAND | SA_RESTART; // the second Ctrl-C finds the default action: the end
    struct sigaction inherited{};
    sigaction(SIGINT, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) // as with nohup, or in the background of a script
        sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return [] { return interrupted != 0; };
}

std::optional<std::string> ask_at_terminal(const std::string& question) {
    const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return std::nullopt;
    Output(terminal).write(question);
    std::string line;
    char letter = 0;
    while (::read(terminal, &letter, 1) == 1 && letter != '\n')
        line += letter;
    ::close(terminal);
    return line;
}

void open_standard_streams() {
    for (const int descriptor : {0, 1, 2}) {
        if (::fcntl(descriptor, F_GETFD) == -1) {
            (void)::open("/dev/null",
                         O_RDONLY); // takes the lowest free number; writing there fails, as it should
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
    Environment environment;
    environment.input_is_terminal = ::isatty(STDIN_FILENO) == 1;
    environment.output_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    environment.error_is_terminal = ::isatty(STDERR_FILENO) == 1;
    environment.variables = variables();
    environment.executor_factory = generate::device_executor;
    environment.device_lister = generate::list_devices;
    environment.watch_interrupts = watch_interrupts;
    environment.ask_at_terminal = ask_at_terminal;
    return environment;
}

} // namespace etna::cli
