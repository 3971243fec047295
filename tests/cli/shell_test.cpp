// Tool commands: output, end, and that every one of them can be ended.

#include "cli/tools/shell.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <string>

using namespace etna;
using namespace etna::cli;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto soon = 30s; ///< for a slow machine; a command that is not ended takes 1000 s

ShellOutcome outcome_of(const std::string& command, ShellLimits limits = {},
                        const CancelPoll& is_cancelled = {},
                        const std::string& arguments = R"({"sides": 6})") {
    (void)std::signal(SIGPIPE, SIG_IGN);
    auto outcome = run_shell(command, arguments, limits, is_cancelled);
    REQUIRE(outcome.has_value());
    return std::move(*outcome);
}

/// Returns true after a delay that lets the command start.
CancelPoll stop_after(std::chrono::milliseconds time) {
    return [end = Clock::now() + time] { return Clock::now() >= end; };
}

} // namespace

TEST_CASE("output, standard error and exit code of a command are separate") {
    const ShellOutcome outcome = outcome_of("cat; echo \" $arg_sides\"; echo careful >&2; exit 3");
    CHECK(outcome.output == "{\"sides\": 6} 6\n");
    CHECK(outcome.error_output == "careful\n");
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.end == ShellEnd::exited);
    CHECK(!outcome.is_cut);
}

TEST_CASE("a command need not read its arguments") {
    const std::string arguments = "[\"" + std::string(500000, 'x') + "\"]"; // more than a pipe holds
    CHECK(outcome_of("exec < /dev/null; sleep 0.1; echo done", {}, {}, arguments).output == "done\n");
    CHECK(outcome_of("wc -c", {}, {}, arguments).output == "500004\n");
}

TEST_CASE("a command's output is bounded, and the command continues") {
    const ShellOutcome outcome =
        outcome_of("head -c 1500000 /dev/zero; head -c 200000 /dev/zero >&2; echo end >&2; exit 4");
    CHECK(outcome.output.size() == shell_output_bytes_max);
    CHECK(outcome.error_output.size() == shell_error_bytes_max);
    CHECK(outcome.is_cut);
    CHECK(outcome.exit_code == 4);
}

TEST_CASE("a command that closes its output and keeps running is stopped") {
    const auto begin = Clock::now();
    const ShellOutcome outcome = outcome_of("exec >&- 2>&-; sleep 1000", {}, stop_after(300ms));
    CHECK(outcome.end == ShellEnd::stopped);
    CHECK(outcome.exit_code == 128 + 15);
    CHECK(Clock::now() - begin < soon);
}

TEST_CASE("a command that ignores SIGTERM is killed after the grace period") {
    const auto begin = Clock::now();
    const ShellOutcome outcome = outcome_of("trap '' TERM; echo here; while :; do sleep 0.1; done",
                                            {.grace = 300ms}, stop_after(300ms));
    CHECK(outcome.end == ShellEnd::stopped);
    CHECK(outcome.output == "here\n");
    CHECK(outcome.exit_code == 128 + 9);
    CHECK(Clock::now() - begin < soon);
}

TEST_CASE("a command may clean up on SIGTERM") {
    const ShellOutcome outcome = outcome_of("trap 'echo cleaned; exit 7' TERM; while :; do sleep 0.1; done",
                                            {.grace = soon}, stop_after(300ms));
    CHECK(outcome.output == "cleaned\n");
    CHECK(outcome.exit_code == 7);
}

TEST_CASE("the children of a command get SIGTERM too") {
    const auto begin = Clock::now();
    // The child holds the output open: without its own SIGTERM, only the grace period would end it.
    const ShellOutcome outcome =
        outcome_of("sleep 1000 & exec sleep 1000", {.grace = 2 * soon}, stop_after(300ms));
    CHECK(outcome.end == ShellEnd::stopped);
    CHECK(Clock::now() - begin < soon);
}

TEST_CASE("a command that waits for a terminal it does not have is stopped") {
    const auto begin = Clock::now();
    const ShellOutcome outcome =
        outcome_of("kill -STOP $$; echo never", {.grace = 2 * soon}, stop_after(300ms));
    CHECK(outcome.end == ShellEnd::stopped);
    CHECK(outcome.output.empty());
    CHECK(Clock::now() - begin < soon);
}

TEST_CASE("a command's time is limited, and 0 is no limit") {
    const auto begin = Clock::now();
    for (const char* command : {"echo started; sleep 1000", "echo started; exec >&- 2>&-; sleep 1000"}) {
        const ShellOutcome outcome = outcome_of(command, {.time = 300ms});
        CHECK(outcome.end == ShellEnd::out_of_time);
        CHECK(outcome.output == "started\n");
        CHECK(Clock::now() - begin < soon);
    }
    CHECK(outcome_of("sleep 0.3; echo done", {.time = 0ms}).output == "done\n");
}
