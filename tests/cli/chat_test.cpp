// `etna chat` through a pipe, and tools and conversations of `etna run`, on the fake executor.

#include "core/base/json.hpp"
#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

TEST_CASE("every line of a pipe is a message, and the output contains only the answers") {
    Chat etna;
    etna.answers = {"one dog", "two dogs"};
    const Outcome outcome = etna.chat("hi\n\nhow are you");
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "one dog\ntwo dogs\n");
    CHECK(outcome.error.empty());
    CHECK(contains(etna.prompt, "user: hi"));
    CHECK(contains(etna.prompt, "user: how are you"));
    CHECK(count(etna.prompt, "user: hi") == 1); // cached tokens are not computed again
    CHECK(etna.chat("").code == 0);
}

TEST_CASE("three double quotes enclose a message of several lines") {
    Chat etna;
    CHECK(etna.chat("\"\"\"one\ntwo\nthree\"\"\"\n").output == "there was a dog.\n");
    CHECK(contains(etna.prompt, "user: one\ntwo\nthree</s>"));
    CHECK(etna.chat("\"\"\"\none\n").output == "there was a dog.\n"); // so does the end of the input
    etna.chat("\"\"\"one\ntwo\"\"\" and three\n");                    // text after the quotes is kept
    CHECK(contains(etna.prompt, "user: one\ntwo and three</s>"));
    etna.chat("\"\"\"\none\n\"\"\"  \n");
    CHECK(contains(etna.prompt, "user: one</s>"));
}

TEST_CASE("a system message stays when the conversation is cleared") {
    Chat etna;
    const Outcome outcome = etna.chat("hi\n/clear\nbye\n", {"--system", "Be brief."});
    CHECK(outcome.output == "there was a dog.\nthere was a dog.\n");
    CHECK(contains(etna.prompt, "system: Be brief.</s>"));
    CHECK(contains(etna.prompt, "bye</s>"));
    CHECK(contains(outcome.error, "note: the conversation is empty"));
}

TEST_CASE("/undo, /retry, /save and /load") {
    Chat etna;
    etna.answers = {"one dog", "two dogs", "three dogs"};
    const auto file = etna.write("saved.json", "").string();
    const Outcome outcome = etna.chat("hi\nho\n/undo\n/save " + file + "\n/undo\n/undo\n/load " + file +
                                      "\n/show messages\n/retry\n");
    CHECK(outcome.output == "one dog\ntwo dogs\none dog\n");
    CHECK(contains(outcome.error, "note: removed: `ho`"));
    CHECK(contains(outcome.error, "error: there is no message to undo"));
    CHECK(contains(outcome.error, ": 1 user messages"));
    CHECK(contains(outcome.error, "user      hi\nassistant one dog\n"));
    const auto saved = nlohmann::json::parse(content_of(file));
    REQUIRE(saved["messages"].size() == 2);
    CHECK(saved["messages"][1]["content"] == "one dog");
}

TEST_CASE("/file attaches a file to the next message") {
    Chat etna;
    const auto file = etna.write("notes.txt", "first\nsecond").string();
    CHECK(etna.chat("/file " + file + "\nwhat is this?\n").code == 0);
    CHECK(contains(etna.prompt, "user: notes.txt:\n```\nfirst\nsecond\n```\n\nwhat is this?</s>"));
}

TEST_CASE("wrong commands are reported, and the chat continues") {
    Chat etna;
    const Outcome outcome = etna.chat("/udno\n/undo now\n/load\n/load " + etna.write("there", "").string() +
                                      ".not\n/set temp warm\n/set tmep 1\n"
                                      "/model nowhere\n/tools /nonexistent\n/show nothing\n/\n hi\n");
    CHECK(outcome.code == 1);
    CHECK(outcome.output == "there was a dog.\nthere was a dog.\n"); // "/" alone is a message
    for (const char* told :
         {"there is no command `/udno`\nhint: did you mean /undo?", "/undo takes no argument",
          "/load needs an argument\nhint: ", "there.not", "/set temp: `warm` is not",
          "there is no setting `tmep`\nhint: did you mean temp?", "/show has no `nothing`"}) {
        CAPTURE(told);
        CHECK(contains(outcome.error, told));
    }
}

TEST_CASE("/set changes later answers, /show lists it") {
    Chat etna;
    const Outcome outcome =
        etna.chat("/set max-tokens 1\nhi\n/set\n/show\n/show prompt\n/help\n/stats\n/bye\nnever\n");
    CHECK(outcome.output == "there\n");
    CHECK(contains(outcome.error, "max-tokens 1\n"));
    CHECK(contains(outcome.error, "model       chatty on fake device\n"));
    CHECK(contains(outcome.error, "user: hi</s>\n"));
    CHECK(contains(outcome.error, "/undo"));
    CHECK(contains(outcome.error, "answer      1 tokens"));
}

TEST_CASE("/set alone reports that nothing is set") {
    Chat etna;
    const std::string nothing = "note: nothing is set; /set NAME VALUE sets an option, as in /set temp 0.5\n";
    CHECK(etna.chat("/set\n").error == nothing);
    CHECK(etna.chat("/set temp 0.5\n/set\n").error == "temp 0.5\n");
}

TEST_CASE("/show names the chat template in use and its source") {
    Chat etna;
    const auto template_in = [&](const std::string& model, const std::string& option) {
        etna.input = "/show\n";
        std::vector<std::string> arguments = {"chat", model};
        if (!option.empty())
            arguments.insert(arguments.end(), {"--chat-template", option});
        const std::string told = etna.run(arguments).error;
        const std::size_t begin = told.find("template    ");
        REQUIRE(begin != std::string::npos);
        return told.substr(begin + 12, told.find('\n', begin) - begin - 12);
    };
    const std::string file = etna.write("mine.jinja", lines_template).string();
    etna.install_model("varied", {{"tokenizer.chat_template", lines_template},
                                  {"tokenizer.chat_template.brief", lines_template}});
    CHECK(template_in("chatty", "") == "the model's own");
    CHECK(template_in("varied", "brief") == "the model's own, variant brief");
    CHECK(template_in("chatty", file) == "file " + file);
    CHECK(template_in("chatty", "llama3") == "built-in llama3");
    CHECK(template_in("stories", "") == "built-in chatml; the model has none");
}

TEST_CASE("a full context drops the oldest turns, reports it once, and keeps the system message") {
    Chat etna;
    std::string typed;
    for (int i = 0; i < 12; ++i)
        typed += "message number " + std::to_string(i) + "\n";
    const Outcome outcome = etna.chat(typed + "/show messages\n", {"-c", "160", "--system", "stay"});
    CHECK(outcome.code == 0);
    CHECK(count(outcome.output, "there was a dog.\n") == 12);
    CHECK(count(outcome.error, "the oldest turns are dropped") == 1);
    CHECK(contains(outcome.error, "system    stay\n"));
    CHECK(contains(outcome.error, "user      message number 11\n"));
    CHECK(!contains(outcome.error, "user      message number 0\n"));
    const Outcome longer = etna.chat(std::string(2000, 'x') + "\nshort\n", {"-c", "160"});
    CHECK(contains(longer.error, "the context of 160"));
    CHECK(longer.output == "there was a dog.\n"); // the message that did not fit is removed
}

TEST_CASE("the chat's model is `demo` by default") {
    Harness etna;
    etna.input_kind = InputKind::pipe;
    etna.input = "hi\n";
    const Outcome outcome = etna.run({"chat"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "there was a dog.\n");
    CHECK(etna.prompt == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("a model without a template gets one by name, or chatml and a note") {
    Harness etna;
    etna.input_kind = InputKind::pipe;
    etna.input = "hi\n";
    const Outcome base = etna.run({"chat", "stories"});
    CHECK(base.code == 0);
    CHECK(contains(base.error, "note: stories has no chat template: using chatml; --chat-template selects"));
    CHECK(etna.prompt.ends_with("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"));
    CHECK(etna.run({"chat", "stories", "--chat-template", "vicuna"}).code == 0);
    CHECK(etna.prompt == "<s> USER: hi\nASSISTANT:");
}

TEST_CASE("a tool runs when the user agrees, and the model gets its output") {
    Chat etna;
    const auto tools = etna.write("tools.json", dice).string();
    etna.answers = {calls_roll, "You have a number."};
    for (const bool agrees : {true, false}) {
        etna.agreements = {agrees ? "y" : "n"};
        etna.questions.clear();
        const Outcome outcome = etna.chat("roll for me\n", {"--tools", tools});
        CAPTURE(outcome.error);
        CHECK(outcome.output == "You have a number.\n");
        CHECK(contains(etna.prompt, "\"name\": \"roll\""));
        CHECK(!contains(etna.prompt, "command"));
        CHECK(contains(etna.prompt,
                       agrees ? "tool: {\"sides\": 6} 6" : "tool: the user did not allow this call"));
        REQUIRE(etna.questions.size() == 1);
        CHECK(contains(etna.questions[0], "run `cat; echo"));
        CHECK(contains(outcome.error, "the model calls roll {\"sides\":6}"));
    }
}

TEST_CASE("--yes and `always` allow every call; without a terminal no call runs") {
    Chat etna;
    const auto tools = etna.write("tools.json", dice).string();
    etna.answers = {calls_roll, calls_roll, "done"};
    CHECK(etna.chat("go\n", {"--tools", tools, "--yes"}).output == "done\n");
    CHECK(count(etna.prompt, "tool: {\"sides\": 6} 6") == 2);
    CHECK(etna.questions.empty());
    etna.agreements = {"a"};
    CHECK(etna.chat("go\n", {"--tools", tools}).output == "done\n");
    CHECK(etna.questions.size() == 1);
    const Outcome nobody = etna.chat("go\n", {"--tools", tools});
    CHECK(nobody.output.empty());
    CHECK(count(nobody.error, "there is no terminal to ask") == 1);
}

TEST_CASE("run executes calls with a command and prints the others") {
    Chat etna;
    etna.input_kind = InputKind::none;
    std::string without = dice;
    without.replace(without.find("\"command\""), 9, "\"unused\"");
    const auto tools = etna.write("tools.json", without).string();
    etna.answers = {calls_roll, "done"};
    CHECK(etna.run({"run", "chatty", "go", "--tools", tools}).output ==
          "{\"name\":\"roll\",\"arguments\":{\"sides\":6}}\n");
    const auto report =
        nlohmann::json::parse(etna.run({"run", "chatty", "go", "--tools", tools, "--json"}).output);
    CHECK(report["finish_reason"] == "tool_calls");
    CHECK(report["text"].get<std::string>().empty());
    REQUIRE(report["tool_calls"].size() == 1);
    CHECK(report["tool_calls"][0]["function"]["name"] == "roll");
    CHECK(report["tool_calls"][0]["id"].get<std::string>().size() == 9);
    CHECK(etna.run({"run", "chatty", "go", "--tools", etna.write("run.json", dice), "--yes"}).output ==
          "done\n");
}

TEST_CASE("run continues a conversation from a file") {
    Chat etna;
    etna.input_kind = InputKind::none;
    const auto file = etna.write("request.json", R"({"messages": [{"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"}, {"role": "user", "content": "And?"}]})");
    CHECK(etna.run({"run", "chatty", "--messages", file}).output == "there was a dog.\n");
    CHECK(etna.prompt == "<s> user: Hi</s> \nassistant: Ho</s> \nuser: And?</s> \nassistant:");
    CHECK(etna.run({"run", "chatty", "--messages", file, "Well?", "--system", "Be"}).code == 0);
    CHECK(etna.prompt.starts_with("<s> system: Be</s>"));
    CHECK(etna.prompt.ends_with("user: And?</s> \nuser: Well?</s> \nassistant:"));
    CHECK(contains(etna.run({"run", "stories", "--messages", file}).error,
                   "no chat template, which --messages needs"));
    const auto with_tools =
        etna.write("tools_request.json",
                   R"({"messages": [{"role": "user", "content": "Roll"}], "tools": [{"type": "function",
        "function": {"name": "roll", "parameters": {}}}]})");
    etna.answers = {calls_roll, "never asked for"};
    CHECK(etna.run({"run", "chatty", "--messages", with_tools}).output ==
          "{\"name\":\"roll\",\"arguments\":{\"sides\":6}}\n");
    etna.answers = {};
    CHECK(etna.run({"run", "chatty", "--messages", file, "--raw"}).code == 2);
    CHECK(etna.run({"run", "chatty", "--messages", etna.write("bad.json", "[]")}).code == 2);
}

TEST_CASE("a tool's output is bounded, and its failure is reported") {
    Chat etna;
    const auto tool = [&](const std::string& command) {
        nlohmann::json list = nlohmann::json::parse(dice);
        list[0]["command"] = command;
        etna.answers = {calls_roll, "done"};
        const Outcome outcome =
            etna.chat("go\n", {"--tools", etna.write("tools.json", etna::dump_json(list)).string(), "--yes",
                               "-c", "100000"});
        CHECK(outcome.output == "done\n");
        return etna.prompt;
    };
    CHECK(contains(tool("echo no >&2; exit 3"), "(exit code 3)"));
    CHECK(contains(tool("kill -9 $$"), "(exit code 137)"));
    CHECK(contains(tool("printf 'a\\377b'"), "tool: a\xef\xbf\xbd"
                                             "b"));
    CHECK(contains(tool("exec < /dev/null; yes | head -c 600"), "y\ny\n")); // unread arguments
}

TEST_CASE("invalid tools files are refused") {
    Chat etna;
    for (const char* text :
         {"", "{}", "[1]", "[{\"description\": \"x\"}]", "[{\"name\": \"a\"}, {\"name\": \"a\"}]"}) {
        CAPTURE(text);
        const Outcome outcome = etna.chat("hi\n", {"--tools", etna.write("tools.json", text).string()});
        CHECK(outcome.code == 1);
        CHECK(contains(outcome.error, "tools.json: "));
    }
}

TEST_CASE("reasoning is shown on standard error if requested, and never in the answer") {
    Chat etna;
    etna.answer = "<think>It is a dog.</think>A dog.";
    const Outcome hidden = etna.chat("who?\n");
    CHECK(hidden.output == "A dog.\n");
    CHECK(hidden.error.empty());
    const Outcome shown = etna.chat("who?\n/set reasoning hide\nwho?\n", {"--reasoning", "show"});
    CHECK(shown.output == "A dog.\nA dog.\n");
    CHECK(shown.error == "It is a dog.\n");
    etna.input_kind = InputKind::none;
    const auto report = nlohmann::json::parse(etna.run({"run", "chatty", "who?", "--json"}).output);
    CHECK(report["text"] == "A dog.");
    CHECK(report["reasoning"] == "It is a dog.");
    etna.answer = "It is a dog.</think>A dog."; // which is known for reasoning only at its end
    etna.install_model("thinker",
                       {{"tokenizer.chat_template", std::string("{# <think> </think> #}") + lines_template}});
    const auto late = nlohmann::json::parse(etna.run({"run", "thinker", "who?", "--json"}).output);
    REQUIRE(late.contains("reasoning"));
    CHECK(late["text"] == "A dog.");
    CHECK(late["reasoning"] == "It is a dog.");
}

TEST_CASE("/set takes Ollama's names, and shows a value") {
    Chat etna;
    CHECK(etna.chat("/set temperature 0.25\n/set parameter num_predict 9\n/set temp\n/set\n").error ==
          "temp 0.25\nmax-tokens 9\ntemp 0.25\n");
    CHECK(contains(etna.chat("/set top-k\n").error, "top-k is not set; default: "));
    CHECK(etna.chat("/set nowordwrap\n/set wordwrap\n/set\n").error == "no-wrap false\n");
    CHECK(contains(etna.chat("/set system \"Be brief.\"\n/set system\n/show system\n").error,
                   "the system message is set\nBe brief.\nBe brief.\n"));
    CHECK(contains(etna.chat("/set num_ctx 4096\n").error,
                   "ctx-size cannot be changed during a chat\nhint: start the chat with --ctx-size\n"));
    CHECK(
        contains(etna.chat("/set tempp\n").error, "there is no setting `tempp`\nhint: did you mean temp?\n"));
    CHECK(contains(etna.chat("/show info\n").error, "model       chatty on fake device\n"));
    CHECK(etna.chat("/set temp 0.5\n/show parameters\n").error == "temp 0.5\n");
}

TEST_CASE("a model that only embeds texts cannot chat") {
    Chat etna;
    const std::string told = "demo-embed encodes texts and generates none\nhint: use `etna embed demo-embed`";
    const Outcome changed = etna.chat("/model demo-embed\nhi\n");
    CHECK(contains(changed.error, told));
    CHECK(changed.output == "there was a dog.\n");
    const Outcome started = etna.run({"chat", "demo-embed"});
    CHECK(started.code == 1);
    CHECK(contains(started.error, told));
}

TEST_CASE("an answer that does not match its schema fails the chat of a pipe") {
    Chat etna;
    etna.answer = R"({"a": "some longer text"})";
    const Outcome outcome =
        etna.chat("hi\n", {"-n", "3", "--json-schema", R"({"type": "object", "required": ["a"]})"});
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "the answer is cut off and does not match --json-schema"));
}
