// Consent: which commands run, and the questions before.

#include "core/base/json.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

struct Consenting : Chat {
    Consenting() { answers = {calls_roll, "done"}; }

    /// A tools file with one command that creates a file of that name.
    std::string tools(const std::string& mark) {
        return write(mark + ".json", Json::array({tool(mark)}).dump()).string();
    }

    /// A conversation in a file with more members.
    std::string conversation(const Json& more) {
        Json json = {{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}},
                                               {{"role", "assistant"}, {"content", "Ho"}}})}};
        json.update(more);
        return write("conversation.json", etna::dump_json(json)).string();
    }

    Json tool(const std::string& mark) {
        Json tool = etna::parse_json(dice)[0];
        tool["command"] = "echo " + mark + " | tee " + home(mark);
        return tool;
    }

    std::string home(const std::string& name) { return variables["HOME"] + "/" + name; }
    bool has_run(const std::string& mark) { return std::filesystem::exists(home(mark)); }
};

} // namespace

TEST_CASE("`always` applies to one command of one tool") {
    Consenting etna;
    Json two = Json::array({etna.tool("first"), etna.tool("second")});
    two[1]["function"]["name"] = "deal";
    const std::string calls_deal = R"(<tool_call>{"name": "deal", "arguments": {}}</tool_call>)";
    etna.answers = {calls_roll + calls_roll + calls_deal, "done"};
    etna.agreements = {"a", "n"};
    const auto file = etna.write("two.json", etna::dump_json(two)).string();
    CHECK(etna.chat("go\n", {"--tools", file}).output == "done\n");
    REQUIRE(etna.questions.size() == 2);
    CHECK(contains(etna.questions[0], "first"));
    CHECK(contains(etna.questions[1], "second"));
    CHECK(etna.has_run("first"));
    CHECK(!etna.has_run("second"));
}

TEST_CASE("`always` ends when the tools change, even if their commands are the same") {
    Consenting etna;
    const auto file = etna.tools("first");
    etna.answers = {calls_roll, "done", calls_roll, "done again"};
    etna.agreements = {"a", "n"};
    CHECK(etna.chat("go\n/tools " + file + "\ngo\n", {"--tools", file}).output == "done\ndone again\n");
    CHECK(etna.questions.size() == 2);
}

TEST_CASE("a loaded conversation cannot contain commands, whatever was allowed before") {
    Consenting etna;
    const auto file = etna.conversation({{"tools", Json::array({etna.tool("theirs")})}});
    const auto own = etna.tools("own");
    etna.answers = {calls_roll, "done", calls_roll};
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--tools", own}, {"--tools", own, "--yes"}}) {
        etna.agreements = {"a", "y"};
        const Outcome outcome = etna.chat("go\n/load " + file + "\n/show tools\ngo\n", more);
        CAPTURE(outcome.error);
        CHECK(etna.has_run("own"));
        CHECK(!etna.has_run("theirs"));
        CHECK(contains(outcome.error, "the conversation's command for `roll` is ignored"));
        CHECK(contains(outcome.error, "roll                 (no command)"));
    }
    etna.input_kind = InputKind::none;
    etna.answers = {calls_roll, "never"};
    const Outcome run = etna.run({"run", "chatty", "go", "--messages", file, "--yes"});
    CHECK(run.output == "{\"name\":\"roll\",\"arguments\":{\"sides\":6}}\n");
    CHECK(contains(run.error, "the conversation's command for `roll` is ignored"));
    CHECK(!etna.has_run("theirs"));
}

TEST_CASE("commands of a tools file named by a loaded conversation are listed and need new consent") {
    Consenting etna;
    const auto theirs = etna.tools("theirs");
    const auto file = etna.conversation(
        {{"tools", Json::array({etna.tool("theirs")})}, {"etna", {{"tools_file", theirs}}}});
    const auto own = etna.tools("own");
    etna.answers = {calls_roll, "done", calls_roll, "refused"};
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--tools", own}, {"--tools", own, "--yes"}}) {
        etna.questions.clear();
        etna.agreements = {"a", "n"};
        if (more.size() == 3)
            etna.agreements = {"n"};
        const std::size_t asked = etna.agreements.size();
        const Outcome outcome = etna.chat("go\n/load " + file + "\ngo\n", more);
        CAPTURE(outcome.error);
        CHECK(contains(outcome.error, "tools of " + theirs + "; their commands run only after you agree:"));
        CHECK(contains(outcome.error, "roll                 echo theirs | tee "));
        REQUIRE(etna.questions.size() == asked);
        CHECK(contains(etna.questions.back(), "echo theirs"));
        CHECK(!etna.has_run("theirs"));
    }
}

TEST_CASE("--yes still covers the user's tools after the user's chat is loaded") {
    Consenting etna;
    const auto own = etna.tools("own");
    const auto saved = etna.write("saved.json", "").string();
    etna.answers = {"Hi."};
    etna.chat("hi\n/save " + saved + "\n", {"--tools", own});
    etna.answers = {calls_roll, "done"}; // the loaded conversation's are not the model's own
    const Outcome outcome = etna.chat("/load " + saved + "\ngo\n", {"--tools", own, "--yes"});
    CAPTURE(outcome.error);
    CHECK(etna.questions.empty());
    CHECK(etna.has_run("own"));
}

TEST_CASE("the question shows the complete command and call, and neither can control the terminal") {
    Consenting etna;
    Json tool = etna.tool("never");
    const std::string filler(2500, 'x');
    tool["command"] = "rm #\x1b[2K\rrun `date`?\xc2\x9b"
                      "8m " +
                      filler + "\nend";
    etna.answers = {
        R"(<tool_call>{"name": "roll", "arguments": {"sides": ")" + filler + R"(end"}}</tool_call>)", "done"};
    etna.agreements = {"n"};
    const auto file = etna.write("tools.json", Json::array({tool}).dump()).string();
    const Outcome outcome = etna.chat("go\n", {"--tools", file, "-c", "30000"});
    CAPTURE(outcome.error);
    REQUIRE(etna.questions.size() == 1);
    CHECK(etna.questions[0] ==
          "run `rm #\\x1b[2K\\x0drun `date`?\\u009b8m " + filler + "\\x0aend`? [y]es, [N]o, [a]lways: ");
    CHECK(contains(outcome.error, "the model calls roll {\"sides\":\"" + filler + "end\"}\n"));
}

TEST_CASE("a turn ends at the first call if there is no terminal to ask at") {
    Consenting etna;
    const auto file = etna.tools("never");
    etna.answers = {calls_roll + calls_roll, "never said"};
    const Outcome chat = etna.chat("go\n", {"--tools", file});
    CHECK(chat.code == 1);
    CHECK(chat.output.empty());
    etna.input_kind = InputKind::none;
    const Outcome run = etna.run({"run", "chatty", "go", "--tools", file});
    CHECK(run.code == 1);
    CHECK(run.output.empty());
    for (const Outcome& outcome : {chat, run}) {
        CHECK(count(outcome.error, "the model calls roll") == 1);
        CHECK(count(outcome.error, "error: there is no terminal to ask whether the tool may run") == 1);
        CHECK(contains(outcome.error, "hint: use --yes"));
    }
    CHECK(etna.questions.size() == 2);
    CHECK(!etna.has_run("never"));
}
