// Input and output of a chat: /save and /load, paths, /model and /tools, typed messages.

#include "tests/cli/chat.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace etna;
using namespace etna::test;

TEST_CASE("/load restores a saved conversation") {
    Chat etna;
    const auto tools = etna.write("tools.json", dice).string();
    const auto file = etna.write("saved.json", "").string();
    etna.answers = {"<think>A dog?</think>one dog", "two"};
    etna.chat("hi\n/save " + file + "\n", {"--system", "Be brief.", "--tools", tools, "--temp", "0.5",
                                           "--stop", "cat", "--stop", "cow", "--think"});
    const auto saved = nlohmann::json::parse(content_of(file));
    CHECK(saved["etna"]["settings"]["temp"] == nlohmann::json({"0.5"}));
    CHECK(saved["etna"]["settings"]["stop"] == nlohmann::json({"cat", "cow"}));
    CHECK(saved["etna"]["tools_file"] == tools);
    CHECK(saved["messages"][2]["reasoning_content"] == "A dog?");

    const auto second = etna.write("second.json", "").string();
    const Outcome outcome = etna.chat("/load " + file + "\n/show\n/show tools\n/save " + second +
                                          "\n/set think off\n/show prompt\n",
                                      {"--system", "another", "--stop", "hen", "--top-k", "3"});
    CHECK(contains(outcome.error, "system      `Be brief.`\n"));
    CHECK(contains(outcome.error, "set         stop cat\nset         stop cow\nset         temp 0.5\n"));
    CHECK(contains(outcome.error, "set         top-k 3\n"));
    CHECK(!contains(outcome.error, "stop hen"));
    CHECK(contains(outcome.error, "roll                 cat; echo"));
    auto again = nlohmann::json::parse(content_of(second));
    again["etna"]["settings"].erase("top-k");
    CHECK(again == saved);
    CHECK(etna.run({"run", "chatty", "--messages", file}).code == 0);
}

TEST_CASE("tools without their file are offered without commands") {
    Chat etna;
    const auto tools = etna.write("tools.json", dice).string();
    const auto file = etna.write("saved.json", "").string();
    etna.chat("hi\n/save " + file + "\n", {"--tools", tools});
    std::filesystem::remove(tools);
    const Outcome outcome = etna.chat("/load " + file + "\n/show tools\n");
    CHECK(contains(outcome.error, "tools.json: the tools are offered without commands"));
    CHECK(contains(outcome.error, "roll                 (no command)"));
}

TEST_CASE("/load accepts any chat request, with its template arguments") {
    Chat etna;
    etna.install_model("documented",
                       {{"tokenizer.chat_template",
                         std::string("{% for d in documents or [] %}doc {{ d.text }}; {% endfor %}"
                                     "{% if note %}note {{ note }}; {% endif %}") +
                             lines_template}});
    const auto file = etna.write("request.json", R"({"messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Ho", "thinking": "Hm"}], "documents": [{"text": "paper"}],
            "chat_template_kwargs": {"note": "kept"}, "continue_final_message": true})")
                          .string();
    const auto saved = etna.write("saved.json", "").string();
    etna.input = "/load " + file + "\nwell?\n/save " + saved + "\n";
    CHECK(etna.run({"chat", "documented"}).output == "there was a dog.\n");
    CHECK(contains(etna.prompt, "doc paper; note kept; user: Hi"));
    const auto json = nlohmann::json::parse(content_of(saved));
    CHECK(json["messages"][1]["reasoning_content"] == "Hm");
    CHECK(!json.contains("continue_final_message"));
}

TEST_CASE("a failed /load changes nothing") {
    Chat etna;
    for (const char* text :
         {R"({"messages": [], "tools": 5})", R"({"messages": [], "etna": 5})",
          R"({"messages": [], "etna": {"settings": {"temp": "hot"}}})",
          R"({"messages": [], "etna": {"settings": {"yes": "true"}}})",
          R"({"messages": [], "etna": {"settings": {"temp": 5}}})",
          R"({"messages": [], "etna": {"tools_file": 5}})", R"({"messages": [], "tools": [{"x": 1}]})"}) {
        CAPTURE(text);
        const Outcome outcome =
            etna.chat("hi\n/load " + etna.write("bad.json", text).string() + "\n/show messages\n/set\n");
        CHECK(contains(outcome.error, "error: loading "));
        CHECK(contains(outcome.error, "user      hi\n"));
        CHECK(!contains(outcome.error, "temp"
                                       " hot\n"));
    }
    CHECK(etna.run({"run", "chatty", "--messages",
                    etna.write("bad.json", R"({"messages":
        [{"role": "user", "content": "Hi"}], "tools": 5})")
                        .string()})
              .code == 2);
}

TEST_CASE("paths of commands expand ~") {
    Chat etna;
    etna.write("notes.txt", "some notes");
    etna.write("tools.json", dice);
    const auto model = etna.write("models/mine.gguf", "");
    std::filesystem::remove(model);
    std::filesystem::copy(etna.variables["HOME"] + "/.local/share/etna/models/chatty.gguf", model);
    const Outcome outcome = etna.chat("/tools ~/tools.json\n/file ~/notes.txt\nhi\n/save ~/deep.json\n"
                                      "/load ~/deep.json\n/model ~/models/mine.gguf\n/show\n");
    CAPTURE(outcome.error);
    CHECK(!contains(outcome.error, "error:"));
    CHECK(std::filesystem::exists(etna.variables["HOME"] + "/deep.json"));
    CHECK(contains(etna.prompt, "notes.txt:\n```\nsome notes"));
    CHECK(!std::filesystem::exists("~"));
}

TEST_CASE("/model continues with another model, /tools with other tools") {
    Chat etna;
    etna.install_model("other", {{"tokenizer.chat_template", std::string("other ") + lines_template}});
    const auto tools = etna.write("tools.json", dice).string();
    const Outcome outcome = etna.chat("hi\n/model other\n/tools " + tools + "\nho\n/show tools\n");
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "there was a dog.\nthere was a dog.\n");
    CHECK(contains(outcome.error, "note: other continues the conversation"));
    CHECK(contains(outcome.error, "note: 1 tools are offered"));
    CHECK(contains(outcome.error, "roll                 cat; echo"));
    CHECK(contains(etna.prompt, "other [{\"type\": \"function\""));
    CHECK(contains(etna.prompt, "user: hi</s>"));
    CHECK(contains(etna.prompt, "user: ho</s>"));
}

TEST_CASE("text between three double quotes is never a command") {
    Chat etna;
    for (const char* block : {"\"\"\"/undo\"\"\"\n", "\"\"\"\n/undo\n\"\"\"\n", "\"\"\"/undo\n\"\"\"\n"}) {
        CAPTURE(block);
        const Outcome outcome = etna.chat(block);
        CHECK(outcome.output == "there was a dog.\n");
        CHECK(contains(etna.prompt, "user: /undo</s>"));
    }
}

TEST_CASE("a failed turn or command on a pipe gives exit code 1, a signal its own code") {
    Chat etna;
    CHECK(etna.chat("/load missing.json\nhi\n").code == 1);
    CHECK(etna.chat("/undo\n").code == 1);
    CHECK(etna.chat("hi\n/undo\n").code == 0);
    etna.lost_at_step = 1;
    CHECK(etna.chat("hi\n").code == 1);
    etna.lost_at_step.reset();
    CHECK(etna.chat("hi\n/retry\n").code == 0);
    etna.end_signal = 15;
    CHECK(etna.chat("hi\n").code == 143);
    etna.end_signal = 1;
    CHECK(etna.chat("hi\n").code == 129);
}

TEST_CASE("other programs' names for /help and /bye are accepted") {
    Chat etna;
    const Outcome outcome = etna.chat("/?\nhi\n/exit\nnever\n");
    CHECK(outcome.code == 0);
    CHECK(outcome.output == "there was a dog.\n");
    CHECK(contains(outcome.error, "/help /?           list these commands\n"));
    CHECK(contains(outcome.error, "/bye /exit /quit   leave, as Ctrl-D does\n"));
    CHECK(etna.chat("/quit\nhi\n").output.empty());
    CHECK(contains(etna.chat("/exit now\n").error, "/exit takes no argument"));
}

TEST_CASE("a message that is too long is reported and skipped, and the next one is answered") {
    constexpr std::size_t line_bytes = (std::size_t{64} << 20) + 4096 * 2;
    Chat etna;
    etna.input_kind = InputKind::file;
    const std::string told = "error: a message is longer than 64 MiB and was skipped\n";
    for (const std::string& begin : {std::string(), std::string("\"\"\"\n")}) {
        const std::string end = begin.empty() ? "\n" : "\nmore\n\"\"\"\n";
        const Outcome outcome =
            etna.chat(fmt::format("{}{}{}hi\n", begin, std::string(line_bytes, 'x'), end));
        CAPTURE(outcome.error.substr(0, 200));
        CHECK(outcome.code == 1);
        CHECK(contains(outcome.error, told));
        CHECK(outcome.output == "there was a dog.\n");
        CHECK(contains(etna.prompt, "user: hi</s>"));
    }
    CHECK(contains(etna.chat(std::string(line_bytes, 'x')).error, told)); // without a newline at the end
}

TEST_CASE("a failed output is reported, also without any message") {
    Chat etna;
    etna.input = "hi\n";
    const int full = ::open("/dev/full", O_WRONLY);
    const Outcome outcome = etna.run_into(full, {"chat", "chatty"});
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "error: cannot write to standard output: No space left on device\n"));
    ::close(full);
}

TEST_CASE("-v reports context use after each answer") {
    Chat etna;
    const Outcome outcome = etna.chat("hi\nho\n", {"-v", "-c", "500"});
    CHECK(outcome.output == "there was a dog.\nthere was a dog.\n");
    CHECK(count(outcome.error, " of 500 tokens, ") == 2);
    CHECK(count(outcome.error, " tok/s\n") == 2);
    CHECK(!contains(etna.chat("hi\n").error, "tok/s"));
    CHECK(count(etna.chat("hi\n/retry\n/show\n", {"-v", "-c", "500"}).error, " of 500 tokens, ") == 2);
}

TEST_CASE("/save asks before it creates a folder") {
    Chat etna;
    const std::filesystem::path folder = std::filesystem::path(etna.variables["HOME"]) / "it's new" / "deep";
    const std::string save = "/save " + (folder / "chat.json").string() + "\n";
    etna.agreements = {"n", ctrl_c, ""};
    const Outcome refused = etna.chat("hi\n" + save + save + save);
    CHECK(refused.code == 0);
    CHECK(count(refused.error, "note: not saved; folder " + folder.string() + " does not exist\n") == 3);
    CHECK(!std::filesystem::exists(folder.parent_path()));
    REQUIRE(etna.questions.size() == 3);
    CHECK(etna.questions[0] == "create folder " + folder.string() + "? [y]es, [N]o: ");

    const Outcome nobody = etna.chat("hi\n" + save); // no terminal to ask at
    CHECK(nobody.code == 1);
    CHECK(contains(nobody.error,
                   "error: folder " + folder.string() + " does not exist\nhint: create it with `mkdir -p '"));
    CHECK(contains(nobody.error, "/it'\\''s new/deep'`\n"));
    CHECK(!std::filesystem::exists(folder.parent_path()));

    etna.questions.clear();
    etna.agreements = {"y"};
    const Outcome agreed = etna.chat("hi\n" + save + save); // the folder exists when it is saved again
    CHECK(agreed.code == 0);
    CHECK(count(agreed.error, "note: saved to " + (folder / "chat.json").string() + "\n") == 2);
    CHECK(std::filesystem::exists(folder / "chat.json"));
    CHECK(etna.questions.size() == 1);
}

TEST_CASE("/save refuses a folder") {
    Chat etna;
    const Outcome outcome = etna.chat("hi\n/save " + etna.variables["HOME"] + "\n");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error,
                   "error: " + etna.variables["HOME"] + " is a folder\nhint: name a file in it"));
}

TEST_CASE("a byte order mark at the start of a pipe is not part of the message") {
    Chat etna;
    etna.chat("\xEF\xBB\xBFhi\n\xEF\xBB\xBFho\n");
    CHECK(contains(etna.prompt, "user: hi</s>"));
    CHECK(contains(etna.prompt, "user: \xEF\xBB\xBFho</s>")); // elsewhere it is a character like others
    CHECK(contains(etna.chat("\xEF\xBB\xBF/show\n").error, "messages    0 from the user"));
    CHECK(etna.chat("\xEF\xBB\xBF").output.empty());
}

TEST_CASE("reasoning is dimmed on a terminal with colours") {
    Chat etna;
    etna.answer = "<think>It is a dog.</think>A dog.";
    etna.error_is_terminal = true;
    CHECK(contains(etna.chat("who?\n").error, "\x1b[2mIt is a dog.\x1b[0m\n"));
    etna.variables["NO_COLOR"] = "1";
    const std::string plain = etna.chat("who?\n").error;
    CHECK(contains(plain, "It is a dog.\n"));
    CHECK(!contains(plain, "\x1b[2m"));
    etna.answer = "<think>It \xc2\x9b"
                  "31m\u202eis.</think>A dog.";
    CHECK(contains(etna.chat("who?\n").error, "It \ufffd31m\ufffdis.\n"));
}

TEST_CASE("a pipe as a tools file is refused") {
    Chat etna;
    const Outcome outcome = etna.chat("hi\n", {"--tools", "/dev/null"});
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.error, "/dev/null is not a regular file\nhint: write its content to a file"));
}
