// Tools in a chat: messages to the user, results for the model, and conversations that every strict template
// accepts after any turn.

#include "core/base/json.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

// As Mistral's: user and assistant messages alternate, except calls and results.
const std::string strict_template =
    std::string("{% set ns = namespace(n=0) %}{% for m in messages %}{% if m.role == 'user' or (m.role == "
                "'assistant' and not m.tool_calls) %}{% if (m.role == 'user') != (ns.n % 2 == 0) %}"
                "{{ raise_exception('take turns') }}{% endif %}{% set ns.n = ns.n + 1 %}{% endif %}"
                "{% endfor %}") +
    lines_template;

std::string with_command(const std::string& command) {
    nlohmann::json list = nlohmann::json::parse(dice);
    list[0]["command"] = command;
    return etna::dump_json(list);
}

struct ToolChat : Chat {
    ToolChat() { install_model("strict", {{"tokenizer.chat_template", strict_template}}); }

    /// Replaces the dice's command; every call is allowed unless `more` says otherwise.
    Outcome chat_with(const std::string& command, const std::string& typed,
                      std::vector<std::string> more = {"--yes"}) {
        input = typed;
        more.insert(more.begin(), {"chat", "strict", "--tools",
                                   write("tools.json", with_command(command)).string(), "-c", "20000"});
        return run(more);
    }
};

} // namespace

TEST_CASE("Ctrl-C at the question ends the turn, not the chat") {
    ToolChat etna;
    etna.answers = {calls_roll, "fine"};
    etna.agreements = {ctrl_c};
    const Outcome outcome = etna.chat_with("echo never", "roll\nhi\n", {});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "fine\n");
    CHECK(contains(etna.prompt, "tool: not run: the user stopped this turn</s>"));
    CHECK(contains(etna.prompt, "user: hi</s>"));
}

TEST_CASE("Ctrl-C during a tool ends the tool and the turn, and no other call runs") {
    ToolChat etna;
    etna.answers = {calls_roll + calls_roll, "never"};
    const auto started = etna.write("started", "");
    std::filesystem::remove(started);
    std::thread user([&] {
        (void)etna::test::eventually([&] { return std::filesystem::exists(started); });
        etna.interrupted = true;
    });
    const Outcome outcome =
        etna.chat_with("exec >&- 2>&-; touch " + started.string() + "; sleep 1000", "go\n");
    user.join();
    CHECK(outcome.code == 0);
    CHECK(outcome.output.empty());
    CHECK(contains(outcome.error, "roll: (the user stopped it)\n"));
    etna.interrupted = false;
    etna.answers = {calls_roll + calls_roll, "fine"};
    std::filesystem::remove(started);
    // The state before the next message.
    std::thread again([&] {
        (void)etna::test::eventually([&] { return std::filesystem::exists(started); });
        etna.interrupted = true;
    });
    const auto saved = etna.write("saved.json", "").string();
    etna.chat_with("exec >&- 2>&-; touch " + started.string() + "; sleep 1000", "go\n/save " + saved + "\n");
    again.join();
    const auto messages = nlohmann::json::parse(content_of(saved))["messages"];
    REQUIRE(messages.size() == 4);
    CHECK(messages[2]["content"] == "(the user stopped it)");
    CHECK(messages[3]["content"] == "not run: the user stopped this turn");
    CHECK(messages[3]["tool_call_id"] == messages[1]["tool_calls"][1]["id"]);
}

TEST_CASE("a call of a tool without a command leaves a valid conversation") {
    ToolChat etna;
    etna.answers = {calls_roll, "fine"};
    const Outcome outcome = etna.chat_with("", "roll\nhi\n");
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "fine\n");
    CHECK(contains(outcome.error, "the model called roll {\"sides\":6}, which has no command"));
    CHECK(contains(etna.prompt, "tool: not run: `roll` has no command</s>"));
}

TEST_CASE("endless tool calls are stopped, and the conversation stays valid") {
    ToolChat etna;
    etna.answers.assign(32, calls_roll);
    etna.answers.emplace_back("fine");
    const Outcome outcome = etna.chat_with("echo", "roll\nhi\n");
    CHECK(outcome.code == 1); // the first message has no answer
    CHECK(outcome.output == "fine\n");
    CHECK(contains(outcome.error, "the model called tools 32 times: the turn ends here"));
    CHECK(contains(etna.prompt, "tool: not run: tools were called 31 times already</s>"));
}

TEST_CASE("`run` fails on endless tool calls and reports the results") {
    ToolChat etna;
    etna.input_kind = InputKind::none;
    const auto file = etna.write("tools.json", with_command("echo secret; exit 3")).string();
    const auto run = [&](const std::string& call, const std::vector<std::string>& more) {
        etna.answers.assign(32, call);
        std::vector<std::string> arguments = {"run", "strict", "go", "--tools", file, "-c", "20000"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = etna.run(arguments);
        CHECK(outcome.code == 1);
        CHECK(outcome.output.empty());
        CHECK(contains(outcome.error, "error: the model called tools 32 times: the turn ends here"));
        return outcome.error;
    };
    CHECK(contains(run(calls_roll, {"--yes"}), "note: roll: secret\n(exit code 3)\n"));
    etna.agreements.assign(31, "n");
    CHECK(count(run(calls_roll, {}), "note: roll: the user did not allow this call\n") == 31);
}

TEST_CASE("a tool's output is truncated to the room in the context, and the turn continues") {
    ToolChat etna;
    const std::string mark = " bytes were cut off here: the context has no room for them)\n";
    // Its start and its end stay, including the report of a failure.
    const std::string command =
        "echo begin; head -c 60000 /dev/zero | tr '\\0' 'a'; echo; echo why >&2; exit 3";
    etna.answers = {calls_roll, "one", calls_roll + calls_roll, "two"};
    const Outcome outcome =
        etna.chat_with(command, "go\nagain\n/show messages\n", {"--yes", "-c", "2000", "-n", "200"});
    CAPTURE(outcome.error);
    CHECK(outcome.code == 0);
    CHECK(contains(etna.prompt, "tool: begin\naaa"));
    CHECK(contains(etna.prompt, "aaa\n(exit code 3)\nstandard error:\nwhy"));
    CHECK(contains(etna.prompt, mark));
    CHECK(contains(outcome.error, "note: roll: begin\n"));
    CHECK(contains(outcome.error, " bytes of the result were cut off: the context has no room for them"));
    CHECK(!contains(outcome.error, "this turn alone"));

    etna.input_kind = InputKind::none;
    etna.answers = {calls_roll, "done"};
    const Outcome run = etna.run({"run", "strict", "go", "--yes", "-c", "2000", "--tools",
                                  etna.write("tools.json", with_command(command)).string()});
    CAPTURE(run.error);
    CHECK(run.code == 0);
    CHECK(run.output == "done\n");
    CHECK(contains(etna.prompt, mark));
    CHECK(contains(run.error, "note: roll: 5"));
}

TEST_CASE("a tool's output that just fits is not truncated") {
    ToolChat etna;
    etna.answers = {calls_roll, "done"};
    const auto is_cut = [&](std::size_t context_tokens) {
        const Outcome outcome =
            etna.chat_with("seq 1 200", "go\n", {"--yes", "-n", "80", "-c", std::to_string(context_tokens)});
        CHECK(outcome.output == "done\n");
        return contains(outcome.error, "were cut off");
    };
    const Outcome roomy = etna.chat_with("seq 1 200", "go\n/stats\n", {"--yes", "-n", "80"});
    const std::string label = "prompt      ";
    const std::size_t needed = std::stoul(roomy.error.substr(roomy.error.find(label) + label.size())) + 80;
    CHECK(!is_cut(needed + 20)); // the template adds a few tokens after the result
    CHECK(is_cut(needed - 1));
}

TEST_CASE("a call in a truncated answer is not run, and the conversation stays valid") {
    ToolChat etna;
    const auto marker = etna.write("marker", "");
    std::filesystem::remove(marker);
    // Ends after the call and before the end of the answer.
    const auto model = etna.load("strict");
    const auto tokens = model.file().tokenizer.encode(calls_roll + "and", {.bos = text::AddBos::never});
    REQUIRE(tokens.has_value());
    etna.answer = calls_roll + "and then I";
    const auto saved = etna.write("saved.json", "").string();
    const Outcome outcome = etna.chat_with("touch " + marker.string(), "roll\n/save " + saved + "\nhi\n",
                                           {"--yes", "-n", std::to_string(tokens->size())});
    CHECK(outcome.code == 0);
    CHECK(!std::filesystem::exists(marker));
    const auto messages = nlohmann::json::parse(content_of(saved))["messages"];
    REQUIRE(messages.size() == 3);
    CHECK(messages[1]["tool_calls"].size() == 1);
    CHECK(messages[2]["content"] == "not run: the answer was cut off");
}

TEST_CASE("a tool's output is shown line by line and cannot control the terminal") {
    ToolChat etna;
    etna.answers = {calls_roll, "done"};
    const Outcome outcome = etna.chat_with("printf 'one\\ntwo\\n\\033[2Jthree'", "go\n");
    CHECK(contains(outcome.error, "note: roll: one\ntwo\n\\x1b[2Jthree\n"));
    CHECK(contains(etna.prompt, "tool: one\ntwo\n"));
    const Outcome longer = etna.chat_with("seq 1 100", "go\n");
    CHECK(contains(longer.error, "note: roll: 1\n2\n"));
    CHECK(contains(longer.error, "\n20\n(80 more lines)\n"));
}

TEST_CASE("a tool's standard error is shown, and passed to the model if the tool fails") {
    ToolChat etna;
    etna.answers = {calls_roll, "done"};
    const Outcome good = etna.chat_with("echo six; echo careful >&2", "go\n");
    CHECK(contains(good.error, "note: roll: six\nnote: roll (standard error): careful\n"));
    CHECK(contains(etna.prompt, "tool: six"));
    CHECK(!contains(etna.prompt, "careful"));
    const Outcome bad = etna.chat_with("echo six; echo broken >&2; exit 3", "go\n");
    CHECK(contains(etna.prompt, "tool: six\n(exit code 3)\nstandard error:\nbroken"));
    CHECK(contains(bad.error, "note: roll: six\n(exit code 3)\nstandard error:\nbroken\n"));
    etna.input_kind = InputKind::none;
    const Outcome run = etna.run({"run", "strict", "go", "--yes", "--tools",
                                  etna.write("tools.json", with_command("echo careful >&2")).string()});
    CHECK(run.output == "done\n");
    CHECK(contains(run.error, "note: roll: careful\n"));
}

TEST_CASE("a tool that exceeds its time limit is stopped, and the model is informed") {
    ToolChat etna;
    const std::string hangs = "echo started; exec >&- 2>&-; sleep 1000";
    etna.answers = {calls_roll, "done"};
    CHECK(etna.chat_with(hangs, "go\n", {"--yes", "--tool-timeout", "1"}).output == "done\n");
    CHECK(contains(etna.prompt, "tool: started\n(it was stopped after 1 s)"));
    etna.variables["ETNA_TOOL_TIMEOUT"] = "1";
    CHECK(etna.chat_with(hangs, "go\n").output == "done\n");
    etna.variables.erase("ETNA_TOOL_TIMEOUT");
    CHECK(etna.chat_with(hangs, "/set tool-timeout 1\ngo\n").output == "done\n");
    CHECK(etna.chat_with("sleep 1.2; echo late", "go\n", {"--yes", "--tool-timeout", "0"}).output ==
          "done\n");
    CHECK(contains(etna.prompt, "tool: late"));
    CHECK(etna.chat_with(hangs, "go\n", {"--tool-timeout", "86401"}).code == 2);
}
