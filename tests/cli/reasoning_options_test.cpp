// The limit of the reasoning on the command line and in a chat.

#include "cli/commands/run_command.hpp"
#include "cli/options/serve_options.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using server::api::ReasoningEffort;

namespace {

Result<cli::ServeOptions> reasoning_serve_options(const std::vector<std::string>& arguments) {
    const cli::Command& serve = *cli::find_command("serve");
    return cli::validate_serve(serve, cli::parse(serve, arguments).value());
}

std::optional<generate::ReasoningLimit> limit_of_run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "stories");
    const cli::Command& run = *cli::find_command("run");
    return cli::validate_run(run, cli::parse(run, arguments).value()).value().generation.reasoning_limit;
}

} // namespace

TEST_CASE("--reasoning-budget limits the reasoning, and -1 does not") {
    CHECK_FALSE(limit_of_run({}));
    CHECK_FALSE(limit_of_run({"--reasoning-budget", "-1"}));
    const auto limit = limit_of_run({"--reasoning-budget", "0", "--reasoning-budget-message", "Enough."});
    REQUIRE(limit);
    CHECK(limit->tokens_max == 0U);
    CHECK(limit->message == "Enough.");
}

TEST_CASE("a server has a budget of reasoning, and one for each effort") {
    const auto limits =
        reasoning_serve_options({"--reasoning-budget", "100", "--effort-budgets", "low=5,high=4000000000"})
            .value()
            .server.service.limits;
    CHECK(limits.reasoning_budget == 100U);
    CHECK(limits.effort_budgets.at(static_cast<std::size_t>(ReasoningEffort::low)) == 5U);
    CHECK_FALSE(limits.effort_budgets.at(static_cast<std::size_t>(ReasoningEffort::medium)));
    CHECK(limits.effort_budgets.at(static_cast<std::size_t>(ReasoningEffort::high)) == 4'000'000'000U);
    for (const char* const wrong :
         {"low", "low=", "low=x", "lots=5", "=5", "low=5000000000", "low=5,,high=6"}) {
        CAPTURE(wrong);
        const auto refused = reasoning_serve_options({"--effort-budgets", wrong});
        REQUIRE_FALSE(refused.has_value());
        CHECK(contains(refused.error().message, "--effort-budgets: cannot read `"));
    }
    const auto twice = reasoning_serve_options({"--effort-budgets", "low=1,low=2"});
    REQUIRE(!twice);
    CHECK(contains(twice.error().message, "low is there twice"));
}

TEST_CASE("/think and /nothink switch the thinking of the next answers") {
    Chat etna;
    CHECK(
        contains(etna.chat("/nothink\n/set\n").error, "the model answers without thinking\nno-think true\n"));
    const std::string both = etna.chat("/nothink\n/think\n/set\n").error;
    CHECK(contains(both, "think true\n"));
    CHECK_FALSE(contains(both, "no-think true\n"));
}
