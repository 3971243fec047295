// `etna tokenize` from arguments to streams and exit codes. The tokens of stories260K: <unk> 0, <s> 1, </s>
// 2, byte b is 3 + b; ids of words are those of the reference run in tests/data/models.

#include "core/base/json.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace etna::test;

namespace {

/// The reference program's ids of the prompt.
std::string reference_ids(const std::string& prompt) {
    const auto expected =
        nlohmann::json::parse(std::ifstream(ETNA_TEST_DATA "/models/stories260K.expected.json"));
    for (const auto& run : expected.at("runs")) {
        if (run.value("prompt", "") == prompt)
            return etna::dump_json(run.at("prompt_tokens")) + "\n";
    }
    FAIL("no reference run of " << prompt);
    return "";
}

} // namespace

TEST_CASE("tokenize prints ids as JSON, from the argument or from unchanged standard input") {
    Harness etna;
    const Outcome outcome = etna.run({"tokenize", "stories", "Once upon a time"});
    REQUIRE(outcome.error.empty());
    REQUIRE(outcome.output == reference_ids("Once upon a time"));
    REQUIRE(outcome.code == 0);
    REQUIRE_FALSE(etna.asked.has_value()); // no device was opened

    for (const InputKind kind : {InputKind::pipe, InputKind::file}) {
        etna.input_kind = kind;
        etna.input = "Once upon a time";
        REQUIRE(etna.run({"tokenize", "stories"}).output == reference_ids("Once upon a time"));
        REQUIRE(etna.run({"tokenize", "stories", ""}).output == "[1]\n"); // the argument takes precedence
        etna.input = "\n\n";
        const auto ids = nlohmann::json::parse(etna.run({"tokenize", "stories"}).output);
        REQUIRE(ids.size() == 4); // begin token, space, two newlines
        REQUIRE(ids[2] == 3 + '\n');
        REQUIRE(ids[3] == 3 + '\n');
        etna.input = "";
        REQUIRE(etna.run({"tokenize", "stories"}).output == "[1]\n");
    }
}

TEST_CASE("special tokens in the text are tokens, or text with --no-special") {
    Harness etna;
    const auto ids = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"tokenize", "stories"});
        return nlohmann::json::parse(etna.run(arguments).output).get<std::vector<int>>();
    };
    const auto count = [](const std::vector<int>& list, int id) {
        return std::count(list.begin(), list.end(), id);
    };
    REQUIRE(count(ids({"a</s>b"}), 2) == 1);
    REQUIRE(count(ids({"a</s>b", "--no-special"}), 2) == 0);
    REQUIRE(ids({"a</s>b"}).front() == 1);
    REQUIRE(count(ids({"a</s>b", "--no-special"}), 1) == 0); // not even the model's begin token
    etna.variables["ETNA_NO_SPECIAL"] = "1";
    REQUIRE(count(ids({"a</s>b"}), 2) == 0);
}

TEST_CASE("--pieces prints each token's text, and bytes if it is not complete UTF-8") {
    Harness etna;
    const auto pieces =
        nlohmann::json::parse(etna.run({"tokenize", "stories", "Once \U0001f642", "--pieces"}).output);
    REQUIRE(pieces.size() == 7);
    REQUIRE(pieces[0] == nlohmann::json({{"id", 1}, {"piece", "<s>"}}));
    REQUIRE(pieces[1].at("piece") == " Once");
    REQUIRE(
        pieces[3] ==
        nlohmann::json({{"id", 3 + 0xF0}, {"piece", "\ufffd"}, {"bytes", nlohmann::json::array({0xF0})}}));
    REQUIRE(pieces[6].at("bytes") == nlohmann::json::array({0x82}));
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "--pieces", "[2]"}).output ==
            "[{\"id\":2,\"piece\":\"</s>\"}]\n");
}

TEST_CASE("--decode restores the text and adds nothing") {
    Harness etna;
    for (const std::string text :
         {"Once upon a time", " two  spaces ", "caf\u00e9 \u20ac\U0001f642\n", "", "</s>", "a</s>b", "\n"}) {
        etna.input_kind = InputKind::none;
        const std::string ids = etna.run({"tokenize", "stories", text}).output;
        CAPTURE(text, ids);
        CHECK(etna.run({"tokenize", "stories", "--decode", ids}).output ==
              (text == "a</s>b" ? "a</s> b" : text));
        etna.input_kind = InputKind::pipe;
        etna.input = ids;
        CHECK(etna.run({"tokenize", "stories", "--decode"}).code == 0);
    }
    etna.input_kind = InputKind::none;
    REQUIRE(etna.run({"tokenize", "stories", "--decode", " 403 407\n261,378"}).output == "Once upon a time");
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "[403, 2, 1]"}).output == "Once</s><s>");
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "--no-special", "[403, 2, 1]"}).output == "Once");
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "229"}).output == "\ufffd"); // byte 0xE2 alone
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "[]"}).output.empty());
    REQUIRE(etna.run({"tokenize", "stories", "--decode", "[1, 1, 403]"}).output == "<s> Once");
}

TEST_CASE("tokenize refuses invalid input with the right exit code") {
    Harness etna;
    const auto refused = [&](std::vector<std::string> arguments, int code, const std::string& part) {
        arguments.insert(arguments.begin(), "tokenize");
        const Outcome outcome = etna.run(arguments);
        CAPTURE(arguments, outcome.error);
        CHECK(outcome.code == code);
        CHECK(outcome.output.empty());
        CHECK(outcome.error.starts_with("error: "));
        CHECK(contains(outcome.error, "\nhint: "));
        CHECK(contains(outcome.error, part));
    };
    refused({}, 2, "no model given");
    refused({"stories"}, 2, "no text given");
    refused({"stories", "x", "--pices"}, 2, "did you mean `--pieces`?");
    refused({"stories", "x", "--temp", "1"}, 2, "unknown option `--temp`");
    refused({"none", "x"}, 1, "no model `none`");
    for (const char* ids : {"512", "-1", "1.5", "x", "99999999999999999999", "[1, 2b]", "{\"a\": 1}"})
        refused({"stories", "--decode", "--", ids}, 2, "is not a token of the model");
    const auto file = etna.write("damaged.gguf", "GGUF");
    refused({file.string(), "x"}, 1, "damaged.gguf");
}

TEST_CASE("configuration keys of other commands are accepted") {
    Harness etna;
    etna.write(".config/etna/config.toml", "temp = 0.25\npieces = true\n[run]\nseed = 1\n");
    REQUIRE(contains(etna.run({"tokenize", "stories", "x"}).output, "\"piece\""));
    REQUIRE(etna.run({"run", "stories", "x"}).code == 0);
    etna.write(".config/etna/config.toml", "[tokenize]\ntemp = 0.25\n");
    REQUIRE(etna.run({"tokenize", "stories", "x"}).code == 2);
    etna.write(".config/etna/config.toml", "pices = true\n");
    REQUIRE(contains(etna.run({"tokenize", "stories", "x"}).error, "unknown key `pices`"));
}

TEST_CASE("a full disk is an error, a closed pipe is not") {
    Harness etna;
    const int full = ::open("/dev/full", O_WRONLY);
    const Outcome outcome = etna.run_into(full, {"tokenize", "stories", "x"});
    ::close(full);
    REQUIRE(outcome.code == 1);
    REQUIRE(contains(outcome.error, "cannot write to standard output"));

    std::signal(SIGPIPE, SIG_IGN); // as main does
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    ::close(ends[0]);
    const Outcome left = etna.run_into(ends[1], {"tokenize", "stories", "x"});
    ::close(ends[1]);
    REQUIRE(left.code == 0);
    REQUIRE(left.error.empty());
}
