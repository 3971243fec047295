// Command lines of llama.cpp's and Ollama's programs.

#include "cli/options/command_line.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <set>

#include <fmt/format.h>

using namespace etna;
using namespace etna::cli;
using namespace etna::test;

namespace {

std::vector<std::string> names_of(const CompatOption& option) {
    std::vector<std::string> names;
    std::string_view rest = option.names;
    while (!rest.empty()) {
        const std::size_t end = rest.find(", ");
        names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    }
    return names;
}

bool is_positional(const Command& command, std::string_view name) {
    for (const Positional& positional : command.positionals) {
        if (positional.name == name)
            return true;
    }
    return false;
}

TypedArguments parsed_arguments(const char* command, const std::vector<std::string>& arguments) {
    auto typed = parse(*find_command(command), arguments);
    CAPTURE(arguments);
    REQUIRE(typed.has_value());
    return std::move(*typed);
}

std::string typed_value(const TypedArguments& typed, std::string_view name) {
    const auto found = typed.options.find(name);
    return found == typed.options.end() ? "(absent)" : found->second.back().text;
}

} // namespace

TEST_CASE("compat names are unique and refer to options of the command") {
    for (const Command& command : commands()) {
        std::set<std::string> known;
        for (const Option& option : command.options) {
            known.insert(fmt::format("--{}", option.name));
            if (option.short_name != 0)
                known.insert(fmt::format("-{}", option.short_name));
        }
        for (const CompatOption& compat : command.compat) {
            CAPTURE(command.name, compat.names);
            for (const std::string& name : names_of(compat)) {
                CAPTURE(name);
                CHECK(name.starts_with('-'));
                CHECK(known.insert(name).second);
            }
            const bool is_ours = compat.meaning == CompatMeaning::ours;
            CHECK(compat.hint.empty() == is_ours);
            CHECK(compat.ours.empty() != is_ours);
            if (!is_ours)
                continue;
            const Option* option = find_option(command, compat.ours);
            CHECK((option != nullptr || is_positional(command, compat.ours)));
            CHECK(compat.fixed.empty() == (compat.value != CompatValue::none));
        }
    }
}

TEST_CASE("options of llama.cpp and Ollama are translated") {
    const struct {
        const char* command;
        std::vector<std::string> arguments;
        const char* ours;
        const char* value;
    } cases[] = {
        {"run", {"demo", "x", "--n-predict", "5"}, "max-tokens", "5"},
        {"run", {"demo", "x", "--predict=5"}, "max-tokens", "5"},
        {"run", {"demo", "x", "--temperature", "0.5"}, "temp", "0.5"},
        {"run", {"demo", "x", "-s", "7"}, "seed", "7"},
        {"run", {"demo", "x", "--ctx-size", "512"}, "ctx-size", "512"},
        {"run", {"demo", "x", "-r", "\n"}, "stop", "\n"},
        {"run", {"demo", "x", "-r", "-n"}, "stop", "-n"},
        {"run", {"demo", "x", "-no-cnv"}, "raw", "true"},
        {"run", {"demo", "x", "--hidethinking"}, "reasoning", "hide"},
        {"run", {"demo", "x", "--think=false"}, "think", "false"},
        {"run", {"demo", "x", "--verbose"}, "verbose", "true"},
        {"run", {"demo", "x", "-ctk", "q8_0"}, "key-type", "q8_0"},
        {"run", {"demo", "x", "-sys", "Be brief."}, "system", "Be brief."},
        {"chat", {"demo", "-md", "small.gguf"}, "draft", "small.gguf"},
        {"chat", {"demo", "--nowordwrap"}, "no-wrap", "true"},
        {"serve", {"demo", "-np", "4"}, "parallel", "4"},
        {"serve", {"demo", "--ssl-key-file", "k.pem"}, "tls-key", "k.pem"},
        {"serve", {"demo", "--no-webui"}, "no-page", "true"},
        {"serve", {"demo", "--host", "0.0.0.0", "--port", "9", "-a", "x"}, "alias", "x"},
    };
    for (const auto& one : cases) {
        const TypedArguments typed = parsed_arguments(one.command, one.arguments);
        CAPTURE(one.arguments);
        CHECK(typed_value(typed, one.ours) == one.value);
        CHECK(typed.positionals[0] == "demo");
        CHECK(typed.notes.empty());
    }
}

TEST_CASE("-m, -p and -f give the model and the prompt, in any order") {
    Harness etna;
    const std::string file = etna.write("prompt.txt", "from a file\n").string();
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"run", "-m", "stories", "-p", "Once"},
          {"run", "-p", "Once", "stories"},
          {"run", "--model=stories", "Once"},
          {"run", "-n", "3", "-ngl", "99", "-m", "stories", "--prompt", "Once", "-c", "512"}}) {
        CAPTURE(arguments);
        CHECK(etna.run(arguments).code == 0);
        CHECK(etna.prompt == "<s> Once");
    }
    CHECK(etna.run({"run", "-m", "stories", "-f", file}).code == 0);
    CHECK(etna.prompt == "<s> from a file");
    CHECK(etna.run({"run", "stories", "One", "-f", file}).code == 0);
    CHECK(etna.prompt == "<s> One\n\nfrom a file");
    CHECK(contains(etna.run({"run", "stories", "-f", file + ".not"}).error, "there is no file"));
    CHECK(contains(etna.run({"run", "-p", "Once"}).error, "no model given"));
    CHECK(contains(etna.run({"run", "stories", "Once", "-p", "upon"}).error, "unexpected argument `Once`"));
    CHECK(parsed_arguments("serve", {"-m", "a.gguf", "b.gguf"}).positionals ==
          std::vector<std::string>{"a.gguf", "b.gguf"});
    CHECK(parsed_arguments("tokenize", {"-m", "demo", "-p", "Hello"}).positionals ==
          std::vector<std::string>{"demo", "Hello"});
}

TEST_CASE("compat options without effect are accepted with a note") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "x", "-ngl", "99", "-t", "8", "-fa", "--mlock", "-fa",
                                      "on", "--no-warmup", "-b=512"});
    CHECK(outcome.code == 0);
    CHECK(outcome.output == " there was a dog.\n");
    CHECK(contains(outcome.error,
                   "note: -ngl is ignored; the complete model runs on one device, selected by --device\n"));
    CHECK(contains(outcome.error,
                   "note: -t is ignored; set LP_NUM_THREADS to limit the threads of the CPU driver\n"));
    for (const char* name : {"-t", "-fa", "--mlock", "--no-warmup", "-b"}) {
        CAPTURE(name);
        CHECK(contains(outcome.error, fmt::format("note: {} is ignored; ", name)));
    }
    CHECK(contains(etna.run({"run", "stories", "x", "-ngl"}).error, "error: -ngl needs a value"));
    const Outcome other = etna.run({"run", "stories", "x", "-nglx", "99"}); // unknown to every program
    CHECK(other.code == 2);
    CHECK(contains(other.error, "error: unknown option `-nglx`\nhint: "));
    CHECK(etna.run({"run", "stories", "x", "-n5"}).code == 0);
    CHECK(etna.run({"run", "stories", "x", "-vn5"}).code == 0);
    CHECK(etna.run({"run", "stories", "x", "-v=false", "-n5"}).code == 0);
}

TEST_CASE("unsupported compat options are refused with the alternative") {
    Harness etna;
    const struct {
        std::vector<std::string> arguments;
        const char* hint;
    } cases[] = {
        {{"run", "-hff", "model.gguf", "-p", "x"},
         "-hff is not an option of `etna run`\nhint: name the file after the colon"},
        {{"run", "demo", "x", "-cnv"}, "hint: `etna chat MODEL` holds a conversation"},
        {{"run", "demo", "x", "--mirostat", "2"}, "hint: the samplers and their order are fixed"},
        {{"run", "demo", "x", "--format", "json"}, "hint: --json-schema"},
        {{"chat", "demo", "-p", "x"}, "hint: type the message"},
        {{"serve", "demo", "--temp", "0"},
         "--temp is not an option of `etna serve`\nhint: set it in the request"},
        {{"serve", "demo", "-n", "5"}, "-n is not an option of `etna serve`"},
        {{"ls"}, "unknown command `ls`\nhint: try `etna list`"},
    };
    for (const auto& one : cases) {
        const Outcome outcome = etna.run(one.arguments);
        CAPTURE(one.arguments, outcome.error);
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error, one.hint));
    }
}

TEST_CASE("llama.cpp's values for an absent option are accepted") {
    Harness etna;
    const Outcome outcome = etna.run({"run", "stories", "x", "--seed", "-1", "-n", "-1", "-c", "0",
                                      "--top-n-sigma", "-1", "--repeat-last-n", "-1"});
    CHECK(outcome.code == 0);
    CHECK(outcome.error.empty());
    CHECK(etna.asked->context_tokens == 0);
    etna.variables.emplace("ETNA_SEED", "5");
    etna.error_is_terminal = true;
    const std::string seed = "--seed 5 repeats this";
    CHECK(!contains(etna.run({"run", "stories", "x", "--temp", "1", "--seed", "-1"}).error, seed));
    CHECK(contains(etna.run({"run", "stories", "x", "--top-k", "-2"}).error, "`-2` is out of range"));
}

TEST_CASE("biases and grammars are accepted in llama.cpp's syntax") {
    Harness etna;
    CHECK(etna.run({"run", "stories", "x", "--logit-bias", "15+1", "--logit-bias", "16-1.5", "-l", "17-inf"})
              .code == 0);
    CHECK(etna.run({"run", "stories", "x", "--logit-bias", "15"}).code == 2);
    etna.answer.reset();
    CHECK(etna.run({"run", "stories", "x", "--grammar", "root ::= \"dog\""}).output == "dog\n");
}
