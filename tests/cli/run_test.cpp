// `etna run` from arguments to streams and exit codes, on the fake executor.

#include "core/base/json.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace etna::test;

namespace {

const std::string story_line = " there was a dog.\n";

} // namespace

TEST_CASE("the text goes to standard output as complete lines, and standard error stays empty") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "Once upon a time"});
    REQUIRE(outcome.error.empty());
    REQUIRE(outcome.output == story_line);
    REQUIRE(outcome.code == 0);

    etna.answer = " one\n\n";
    REQUIRE(etna.run({"run", "stories", "x"}).output == " one\n\n"); // ends in a newline already
    etna.answer = "";
    REQUIRE(etna.run({"run", "stories", "x"}).output.empty()); // an empty answer writes nothing
}

TEST_CASE("the prompt comes from the argument, a pipe, a file, or the argument and one of them") {
    Harness etna;
    REQUIRE(etna.run({"run", "stories", "Once"}).code == 0);
    REQUIRE(etna.prompt == "<s> Once");
    for (const InputKind kind : {InputKind::pipe, InputKind::file}) {
        etna.input_kind = kind;
        etna.input = "upon\na time\n"; // one newline at the end is not the prompt's
        REQUIRE(etna.run({"run", "stories"}).code == 0);
        REQUIRE(etna.prompt == "<s> upon\na time");
        REQUIRE(etna.run({"run", "stories", "Once"}).code == 0);
        REQUIRE(etna.prompt == "<s> Once\n\nupon\na time");
        etna.input = "";
        REQUIRE(etna.run({"run", "stories", "Once"}).code == 0);
        REQUIRE(etna.prompt == "<s> Once");
        etna.input = "a\n\n";
        REQUIRE(etna.run({"run", "stories"}).code == 0);
        REQUIRE(etna.prompt == "<s> a\n");
    }
}

TEST_CASE("a missing prompt is a usage error with a hint") {
    Harness etna;
    for (const InputKind kind : {InputKind::none, InputKind::pipe}) {
        etna.input_kind = kind;
        const Outcome outcome = etna.run({"run", "stories"});
        REQUIRE(outcome.code == 2);
        REQUIRE(outcome.output.empty());
        REQUIRE(contains(outcome.error, "error: no prompt given\nhint: give the prompt"));
    }
    REQUIRE(etna.run({"run", "stories", "--", "--not-an-option"}).code == 0);
    REQUIRE(etna.prompt == "<s> --not-an-option");
}

TEST_CASE("a prompt as MODEL gets a hint that quotes it") {
    Harness etna;
    const auto hint_for = [&](const std::vector<std::string>& arguments) {
        const Outcome outcome = etna.run(arguments);
        const std::string message = "error: no model given\nhint: try `";
        CAPTURE(outcome.error);
        CHECK(outcome.code == 2);
        CHECK(outcome.output.empty());
        REQUIRE(outcome.error.starts_with(message));
        return outcome.error.substr(message.size(), outcome.error.find('`', message.size()) - message.size());
    };
    CHECK(hint_for({"run", "What is 34 + 58?"}) == "etna run demo 'What is 34 + 58?'");
    CHECK(hint_for({"run", "Isn't 3/4 > 1/2?"}) == R"(etna run demo 'Isn'\''t 3/4 > 1/2?')");
    CHECK(hint_for({"run", "-p", "Hello"}) == "etna run demo 'Hello'");
    CHECK(hint_for({"run", "two\nlines"}) == "etna run demo PROMPT");
    CHECK(hint_for({"run", "x " + std::string(1000, 'x')}) == "etna run demo PROMPT");
    CHECK(hint_for({"run"}) == "etna run demo 'What is 34 + 58?'");
    for (const char* path : {"my model.gguf", "./my model", "/tmp/my model", "~/my model"}) {
        CAPTURE(path);
        CHECK(etna.run({"run", path}).code == 1); // a path, not a prompt
    }
    CHECK(contains(etna.run({"run", "my model", "x"}).error, "error: no model `my model`: "));
    etna.write(".local/share/etna/models/two words.gguf", "no model");
    CHECK(contains(etna.run({"run", "two words", "x"}).error, "two words.gguf"));
}

TEST_CASE("a model that does not exist is reported before a missing prompt") {
    Harness etna;
    for (const InputKind kind : {InputKind::none, InputKind::pipe}) {
        etna.input_kind = kind;
        const Outcome outcome = etna.run({"run", "llama9.2"});
        CHECK(outcome.code == 1);
        CHECK(outcome.error.starts_with("error: no model `llama9.2`: no such file, and no "));
        CHECK(!contains(outcome.error, "prompt"));
    }
}

TEST_CASE("a chat template turns the prompt into a message, unless --raw is given") {
    Harness etna;
    etna.install_model(
        "chatty", {{"tokenizer.chat_template", "{{ bos_token }}[INST] {{ messages[0].content }} [/INST]"}});
    REQUIRE(etna.run({"run", "chatty", "Hi"}).output ==
            "there was a dog.\n");                   // an answer starts without a space
    REQUIRE(etna.prompt == "<s> [INST] Hi [/INST]"); // one begin token
    REQUIRE(etna.run({"run", "chatty", "Hi", "--raw"}).output == story_line);
    REQUIRE(etna.prompt == "<s> Hi");

    etna.install_model("odd", {{"tokenizer.chat_template", "{% for %}"}});
    const Outcome outcome = etna.run({"run", "odd", "Hi"});
    REQUIRE(outcome.code == 1);
    REQUIRE(contains(outcome.error, "line 1, column"));
    REQUIRE(contains(outcome.error, "\nhint: "));
    REQUIRE(etna.run({"run", "odd", "Hi", "--raw"}).code == 0);
    REQUIRE(etna.run({"run", "odd", "Hi", "--chat-template", "vicuna"}).code == 0);
    REQUIRE(etna.prompt == "<s> USER: Hi\nASSISTANT:");
    const Outcome unknown = etna.run({"run", "odd", "Hi", "--chat-template", "vicunja"});
    REQUIRE(unknown.code == 1);
    REQUIRE(
        contains(unknown.error, "there is no chat template `vicunja`\nhint: name a file, or one of chatml"));
}

TEST_CASE("--max-tokens, --stop and the context end the text") {
    Harness etna;
    const auto tokens_of = [](const Outcome& outcome) {
        return nlohmann::json::parse(outcome.output)["tokens"].size();
    };
    const Outcome limited = etna.run({"run", "stories", "x", "-n", "3", "--json"});
    REQUIRE(tokens_of(limited) == 3);
    REQUIRE(nlohmann::json::parse(limited.output)["finish_reason"] == "length");

    REQUIRE(etna.run({"run", "stories", "x", "--stop", "was"}).output == " there \n");
    REQUIRE(etna.run({"run", "stories", "x", "--stop", "cat", "--stop= a d"}).output == " there was\n");
    REQUIRE(etna.run({"run", "stories", "x", "--stop", "dogs"}).output ==
            story_line); // held back, then shown
    REQUIRE(nlohmann::json::parse(
                etna.run({"run", "stories", "x", "--stop", "was", "--json"}).output)["finish_reason"] ==
            "stop");

    etna.answer.reset(); // rambles until the context is full
    const auto full =
        nlohmann::json::parse(etna.run({"run", "stories", "x", "-c", "32", "--json", "--temp", "0"}).output);
    CAPTURE(etna::dump_json(full));
    REQUIRE((full["finish_reason"] == "length" || full["finish_reason"] == "stop"));
    REQUIRE(full["usage"]["total_tokens"] <= 32);
}

TEST_CASE("--json writes one object and nothing else") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "Once", "--json", "--seed", "4294967295"});
    REQUIRE(outcome.code == 0);
    REQUIRE(outcome.error.empty());
    REQUIRE(std::count(outcome.output.begin(), outcome.output.end(), '\n') == 1);
    const auto json = nlohmann::json::parse(outcome.output);
    REQUIRE(json["model"] == "stories");
    REQUIRE(json["text"] == " there was a dog.");
    REQUIRE(json["finish_reason"] == "stop");
    REQUIRE(json["seed"] == 4294967295U);
    REQUIRE(json["tokens"].is_array());
    REQUIRE(json["usage"]["completion_tokens"] == json["tokens"].size());
    REQUIRE(json["usage"]["prompt_tokens"].get<int>() > 1);
    REQUIRE(json["usage"]["total_tokens"].get<int>() ==
            json["usage"]["prompt_tokens"].get<int>() + json["usage"]["completion_tokens"].get<int>());
    for (const char* key : {"load_ms", "prompt_ms", "generation_ms", "prompt_tokens_per_second",
                            "generation_tokens_per_second"})
        REQUIRE(json["timings"][key].get<double>() >= 0);
    REQUIRE(json.size() == 7);
}

TEST_CASE("the same seed gives the same text, another seed another text") {
    Harness etna;
    etna.answer.reset();
    const auto text = [&](const std::string& seed) {
        const Outcome outcome =
            etna.run({"run", "stories", "x", "-n", "24", "--temp", "1.5", "--seed", seed});
        REQUIRE(outcome.code == 0);
        return outcome.output;
    };
    REQUIRE(text("7") == text("7"));
    REQUIRE(text("7") != text("8"));

    // A random seed is reported, and gives the same text again.
    const auto drawn = nlohmann::json::parse(etna.run({"run", "stories", "x", "-n", "24", "--json"}).output);
    const std::string seed = std::to_string(drawn["seed"].get<uint32_t>());
    const auto again =
        nlohmann::json::parse(etna.run({"run", "stories", "x", "-n", "24", "--json", "--seed", seed}).output);
    REQUIRE(again["tokens"] == drawn["tokens"]);
}

TEST_CASE("Ctrl-C keeps the text written so far and exits with 130") {
    Harness etna;
    etna.answer.reset();
    etna.step_delay = std::chrono::milliseconds(5);
    std::thread hand([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(150)); // until some tokens are generated
        etna.interrupted = true;
    });
    const Outcome outcome = etna.run({"run", "stories", "x", "--temp", "0"});
    hand.join();
    REQUIRE(outcome.code == 130);
    REQUIRE(!outcome.output.empty());
    REQUIRE(outcome.output.back() == '\n');
    REQUIRE(outcome.error.empty());
    const auto json = nlohmann::json::parse(etna.run({"run", "stories", "x", "--json"}).output);
    REQUIRE(json["finish_reason"] == "cancelled");
}

TEST_CASE("an answer that ends early is reported as incomplete at a terminal") {
    Harness etna;
    etna.error_is_terminal = true;
    const auto told = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"run", "stories", "x", "--seed", "1"});
        return etna.run(arguments).error;
    };
    const std::string incomplete = "the answer is incomplete";
    etna.variables["NO_COLOR"] = "1";
    CHECK(told({"-n", "3"}) == "note: --max-tokens 3 reached; the answer is incomplete\n");
    CHECK(told({"-n", "300"}).empty());
    CHECK(told({"-n", "0", "--prompt-logprobs", "0"}).find(incomplete) == std::string::npos);
    CHECK(told({"-n", "3", "--json"}).empty()); // finish_reason reports it
    etna.interrupted = true;
    CHECK(told({}) == "note: stopped; the answer is incomplete\n");
    etna.interrupted = false;
    etna.answer.reset();
    CHECK(told({"-c", "8"}) == "note: the context is full; the answer is incomplete\n");
    etna.error_is_terminal = false;
    CHECK(told({"-n", "3"}).empty());
}

TEST_CASE("SIGTERM and SIGHUP end an answer as Ctrl-C does, each with its own exit code") {
    Harness etna;
    etna.interrupted = true; // as watch_interrupts() reports them too
    for (const auto& [signal, code] : {std::pair{15, 143}, {1, 129}, {0, 130}}) {
        etna.end_signal = signal;
        CAPTURE(signal);
        CHECK(etna.run({"run", "stories", "x"}).code == code);
        CHECK(etna.run({"run", "stories", "x", "--json"}).code == code);
        CHECK(etna.run({"run", "stories", "x", "--n", "2"}).code == code);
    }
}

TEST_CASE("a closed pipe ends silently with 0, a full disk is an error") {
    std::signal(SIGPIPE, SIG_IGN);
    Harness etna;
    etna.answer.reset();
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    ::close(ends[0]);
    for (const char* form : {"--raw", "--json"}) {
        const Outcome outcome = etna.run_into(ends[1], {"run", "stories", "x", "-n", "8", form});
        REQUIRE(outcome.code == 0);
        REQUIRE(outcome.error.empty());
    }
    ::close(ends[1]);
    const int full = ::open("/dev/full", O_WRONLY);
    const Outcome outcome = etna.run_into(full, {"run", "stories", "x"});
    ::close(full);
    REQUIRE(outcome.code == 1);
    REQUIRE(contains(outcome.error, "error: cannot write to standard output: No space left on device"));
}

TEST_CASE("failures are one sentence and exit code 1") {
    Harness etna;
    REQUIRE(contains(etna.run({"run", "dmeo", "x"}).error, "did you mean `demo`?"));
    REQUIRE(etna.run({"run", "dmeo", "x"}).code == 1);
    REQUIRE(etna.run({"run", "./none.gguf", "x"}).code == 1);
    etna.write(".local/share/etna/models/broken.gguf", "GGUF and then nonsense");
    const Outcome broken = etna.run({"run", "broken", "x"});
    REQUIRE(broken.code == 1);
    REQUIRE(contains(broken.error, "error: "));
    REQUIRE(contains(broken.error, "broken.gguf"));
    REQUIRE(broken.output.empty());

    const Outcome longer = etna.run({"run", "stories", "Once upon a time there was", "-c", "4"});
    REQUIRE(longer.code == 1);
    REQUIRE(contains(longer.error, "but the context holds 4"));
    REQUIRE(contains(longer.error, "hint: raise --ctx-size (the model was trained for 2048 tokens)"));

    etna.lost_at_step = 2;
    const Outcome lost = etna.run({"run", "stories", "x"});
    REQUIRE(lost.code == 1);
    REQUIRE(contains(lost.error, "error: the fake device was lost"));
}

TEST_CASE("a random seed is reported on a terminal") {
    Harness etna;
    REQUIRE(etna.run({"run", "stories", "x"}).error.empty()); // a pipe; -v and --json report it
    etna.error_is_terminal = true;
    REQUIRE(contains(etna.run({"run", "stories", "x"}).error, " repeats this"));
    REQUIRE_FALSE(contains(etna.run({"run", "stories", "x", "--seed", "5"}).error, "--seed"));
    REQUIRE_FALSE(contains(etna.run({"run", "stories", "x", "--temp", "0"}).error, "--seed"));
    REQUIRE_FALSE(contains(etna.run({"run", "stories", "x", "--json"}).error, "--seed"));
}

TEST_CASE("notes report a CPU device and a context limited by memory") {
    Harness etna;
    etna.on_cpu = true;
    etna.context_tokens = 256;
    const Outcome outcome = etna.run({"run", "stories", "x"});
    REQUIRE(outcome.code == 0);
    REQUIRE(outcome.output == story_line);
    REQUIRE(contains(outcome.error, "note: no GPU found; running on the CPU (slow)\n"));
    REQUIRE(contains(outcome.error, "note: memory limits the context to 256 of the model's 2048 tokens"));
    REQUIRE(etna.run({"run", "stories", "x", "-c", "256", "--device", "fake", "--seed", "1"})
                .error.empty()); // both were asked for
}

TEST_CASE("a note reports keys and values in q8_0 that the memory required") {
    Harness etna;
    etna.has_adapted_kv_type = true;
    REQUIRE(contains(etna.run({"run", "stories", "x"}).error,
                     "note: keys and values are in q8_0, because a context of 2048 tokens does not fit in "
                     "f16\n"));
    etna.context_tokens = 256;
    REQUIRE(contains(etna.run({"run", "stories", "x"}).error,
                     "note: memory limits the context to 256 of the model's 2048 tokens, with keys and "
                     "values in q8_0\n"));
    REQUIRE(etna.asked->adapts_kv_type);
    REQUIRE(etna.run({"run", "stories", "x", "--kv-type", "f16"}).code == 0);
    REQUIRE(!etna.asked->adapts_kv_type);
}

TEST_CASE("a context beyond the trained one is reported") {
    Harness etna;
    REQUIRE(contains(etna.run({"run", "stories", "x", "-c", "2049"}).error,
                     "note: the context of 2049 tokens exceeds the 2048 that the model was trained for\n"));
    REQUIRE(etna.run({"run", "stories", "x", "-c", "2048"}).error.empty());
}

TEST_CASE("--verbose reports on standard error") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "x", "-v", "--seed", "5"});
    REQUIRE(outcome.output == story_line);
    for (const char* part : {"device      fake device", "load ", "prompt ", "generation ", "tok/s", "seed 5"})
        REQUIRE(contains(outcome.error, part));

    const Outcome one = etna.run({"run", "stories", "x", "-v", "-n", "1"});
    const std::size_t generation = one.error.find("generation ");
    CAPTURE(one.error);
    REQUIRE(contains(one.error, "\ngeneration  1 token in "));
    REQUIRE(!contains(one.error.substr(generation, one.error.find('\n', generation) - generation), "tok/s"));
}

TEST_CASE("messages are coloured on a terminal only, and not with NO_COLOR or TERM=dumb") {
    Harness etna;
    REQUIRE(!contains(etna.run({"run"}).error, "\x1b"));
    etna.error_is_terminal = true;
    REQUIRE(contains(etna.run({"run"}).error, "\x1b[1;31merror:"));
    etna.variables["NO_COLOR"] = "1";
    REQUIRE(!contains(etna.run({"run"}).error, "\x1b"));
    etna.variables.erase("NO_COLOR");
    etna.variables["TERM"] = "dumb";
    REQUIRE(!contains(etna.run({"run"}).error, "\x1b"));
    etna.variables["TERM"] = "xterm";
    REQUIRE(contains(etna.run({"run"}).error, "\x1b"));
}

TEST_CASE("a message is at most a screen long, whatever the names") {
    constexpr std::size_t most = 4500; // an error and a hint, each of 2000 bytes at most, and their labels
    Harness etna;
    const std::string name(100000, 'x');
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", name, "y"},
                                                      {"run", "./" + name, "y"},
                                                      {name},
                                                      {"--" + name},
                                                      {"run", std::string(100000, '\x01'), "y"},
                                                      {"completion", name}}) {
        const Outcome outcome = etna.run(arguments);
        CAPTURE(arguments[0].substr(0, 20), outcome.error.size());
        CHECK(outcome.code != 0);
        CHECK(contains(outcome.error, "..."));
        CHECK(outcome.error.size() < most);
    }
}

TEST_CASE("without HOME there is no models folder and no configuration file") {
    Harness etna;
    for (const char* home : {"", "relative", "-"}) {
        etna.variables["HOME"] = home;
        if (*home == '-')
            etna.variables.erase("HOME");
        const Outcome outcome = etna.run({"run", "nosuch", "x"});
        CAPTURE(home, outcome.error);
        CHECK(outcome.code == 1);
        CHECK(contains(outcome.error,
                       "no model `nosuch`: no such file, and no folder of models: neither HOME nor "
                       "XDG_DATA_HOME is an absolute path"));
        CHECK(!contains(outcome.error, ".local/share"));
        CHECK(etna.run({"run", "demo", "x"}).code == 0);
    }
}

TEST_CASE("a model cannot control the terminal, and a pipe gets its exact text") {
    Harness etna;
    etna.answer = " a\x1b[31mb\xc2\x9b"
                  "31m\u202ec\td\ne";
    CHECK(etna.run({"run", "stories", "x"}).output == *etna.answer + "\n");
    etna.output_is_terminal = true;
    CHECK(etna.run({"run", "stories", "x"}).output == " a\ufffd[31mb\ufffd31m\ufffdc\td\ne\n");
}

TEST_CASE("names cannot write control characters to the terminal") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "\x1b[2Jx\n", "y"});
    REQUIRE(outcome.code == 1);
    REQUIRE(!contains(outcome.error, "\x1b"));
    REQUIRE(contains(outcome.error, "\\x1b[2Jx\\x0a"));
}

TEST_CASE("an invalid schema or grammar is refused before the model is loaded") {
    Harness etna;
    for (const auto& [option, text] : {std::pair{"--json-schema", R"({"type": "objekt"})"},
                                       {"--grammar", "root ::= ["},
                                       {"--regex", "("}}) {
        CAPTURE(option);
        CHECK(etna.run({"run", "stories", "x", option, text}).code == 2);
    }
    CHECK(!etna.asked);
}

TEST_CASE("an answer that is cut off before it matches its grammar is an error") {
    Harness etna;
    etna.answer = R"({"a": "some longer text"})";
    const std::string schema =
        R"({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}})";
    const std::string told = "error: the answer is cut off and does not match --json-schema: --max-tokens 3 "
                             "reached\nhint: raise --max-tokens\n";
    for (const char* form : {"--raw", "--json"}) {
        const Outcome outcome = etna.run({"run", "stories", "x", "-n", "3", "--json-schema", schema, form});
        CAPTURE(form);
        CHECK(outcome.code == 1);
        CHECK(outcome.error == told);
        CHECK(!outcome.output.empty());
    }
    const Outcome two = etna.run({"run", "stories", "x", "-n", "3", "--n", "2", "--json-schema", schema});
    CHECK(two.code == 1);
    CHECK(two.error == told);
    CHECK(etna.run({"run", "stories", "x", "--json-schema", schema}).code == 0);
    etna.answer = "abcdefghijklmnop";
    CHECK(etna.run({"run", "stories", "x", "-n", "2", "--regex", "[a-z]+"}).code == 0); // a complete match
}
