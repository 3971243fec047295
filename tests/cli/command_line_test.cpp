// The first stage of the command line: parsing, precedence of the sources, usage errors.

#include "cli/options/command_line.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace etna;
using namespace etna::cli;
using namespace etna::test;

namespace {

const Command& run_options_table() {
    return *find_command("run");
}

/// An allowed value of the option.
std::string sample_of(const Option& option) {
    switch (option.kind) {
    case Kind::flag:
        return "";
    case Kind::integer:
        return "7";
    case Kind::number:
        return "0.5";
    case Kind::size:
        return "64M";
    case Kind::text:
        return "some text";
    case Kind::choice:
        return std::string(option.choices.back());
    }
    return "";
}

std::string typed_text(const TypedArguments& typed, std::string_view name) {
    const auto found = typed.options.find(name);
    return found == typed.options.end() ? "(absent)" : found->second.back().text;
}

} // namespace

TEST_CASE("every option is accepted as --x v, --x=v and by its short name, before and after the arguments") {
    for (const Option& option : run_options_table().options) {
        const std::string name = fmt::format("--{}", option.name);
        const std::string value = sample_of(option);
        CAPTURE(name);
        std::vector<std::vector<std::string>> forms;
        if (option.kind == Kind::flag) {
            forms = {{name}};
        } else {
            forms = {{name, value}, {fmt::format("{}={}", name, value)}};
        }
        if (option.short_name != 0 && option.kind == Kind::flag)
            forms.push_back({fmt::format("-{}", option.short_name)});
        if (option.short_name != 0 && option.kind != Kind::flag) {
            forms.push_back({fmt::format("-{}", option.short_name), value});
            forms.push_back({fmt::format("-{}{}", option.short_name, value)});
        }
        for (const auto& form : forms) {
            std::vector<std::string> before = form;
            before.insert(before.end(), {"demo", "a prompt"});
            std::vector<std::string> after = {"demo", "a prompt"};
            after.insert(after.end(), form.begin(), form.end());
            for (const auto& arguments : {before, after}) {
                CAPTURE(arguments);
                const auto typed = parse(run_options_table(), arguments);
                REQUIRE(typed.has_value());
                CHECK(typed->positionals == std::vector<std::string>{"demo", "a prompt"});
                CHECK(typed_text(*typed, option.name) == (option.kind == Kind::flag ? "true" : value));
                CHECK(typed->options.size() == 1);
            }
        }
    }
}

TEST_CASE("given twice, the last one counts; repeatable options collect") {
    for (const Option& option : run_options_table().options) {
        if (option.kind == Kind::flag)
            continue;
        const std::string name = fmt::format("--{}", option.name);
        const auto typed = parse(run_options_table(), std::vector<std::string>{name, "1", "demo", name, "2"});
        CAPTURE(name);
        REQUIRE(typed.has_value());
        const auto& values = typed->options.find(option.name)->second;
        CHECK(values.back().text == "2");
        CHECK(values.size() == (option.repeat == Repeat::collect ? 2 : 1));
    }
    const auto flags = parse(run_options_table(), std::vector<std::string>{"--raw", "demo", "--raw=false"});
    REQUIRE(flags.has_value());
    REQUIRE(typed_text(*flags, "raw") == "false");
}

TEST_CASE("values keep dashes, brackets, commas and emptiness") {
    for (const char* value : {"-1", "--", "[a,b]", "a,b", "\"x\"", "a\nb"}) {
        const auto typed =
            parse(run_options_table(), std::vector<std::string>{"demo", std::string("--stop=") + value});
        CAPTURE(value);
        REQUIRE(typed.has_value());
        CHECK(typed_text(*typed, "stop") == value);
    }
    REQUIRE(
        typed_text(parse(run_options_table(), std::vector<std::string>{"demo", "--stop", ""}).value(), "stop")
            .empty());
    REQUIRE(typed_text(parse(run_options_table(), std::vector<std::string>{"--temp", "-1", "demo"}).value(),
                       "temp") == "-1");
    const auto prompt = parse(run_options_table(), std::vector<std::string>{"demo", "[a,b]"});
    REQUIRE(prompt->positionals == std::vector<std::string>{"demo", "[a,b]"});
}

TEST_CASE("unknown options, missing values and surplus arguments are usage errors with a hint") {
    etna::test::Harness etna;
    const auto refused = [&](std::vector<std::string> arguments, const std::string& part) {
        arguments.insert(arguments.begin(), "run");
        const auto outcome = etna.run(arguments);
        CAPTURE(arguments, outcome.error);
        CHECK(outcome.code == 2);
        CHECK(outcome.output.empty());
        CHECK(outcome.error.starts_with("error: "));
        CHECK(contains(outcome.error, "\nhint: "));
        CHECK(contains(outcome.error, part));
    };
    refused({"demo", "x", "--tmep", "1"}, "unknown option `--tmep`\nhint: did you mean `--temp`?");
    refused({"demo", "x", "--max-token=5"}, "did you mean `--max-tokens`?");
    refused({"demo", "x", "--temprature", "1"}, "did you mean `--temperature`?");
    refused({"demo", "x", "--frobnicate"}, "unknown option `--frobnicate`\nhint: try `etna run --help`");
    refused({"demo", "x", "-q"}, "unknown option `-q`");
    refused({"demo", "x", "--no-json"}, "error: --json cannot be negated\nhint: --json=false turns it off\n");
    refused({"demo", "x", "--no-seed=5"}, "error: --seed cannot be negated\nhint: remove --seed\n");
    refused({"demo", "x", "--no-frobnicate"}, "unknown option `--no-frobnicate`");
    for (const Option& option : run_options_table().options) {
        if (option.kind == Kind::flag)
            continue;
        const std::string message = fmt::format("error: --{} needs a value\nhint: try", option.name);
        refused({"demo", "x", fmt::format("--{}", option.name)}, message);
        refused({"demo", "x", fmt::format("--{}=", option.name)}, message);
        refused({fmt::format("--{}=", option.name), "demo", "x"}, message);
    }
    refused({"demo", "x", "-n"}, "error: --max-tokens needs a value\n");
    refused({"demo", "x", "-vn"}, "error: --max-tokens needs a value\n");
    refused({"demo", "x", std::string(100000, 'y')},
            "unexpected argument `" + std::string(100, 'y') + "...`\n");
    refused({"demo", "x", "--" + std::string(100000, 'y')},
            "unknown option `--" + std::string(98, 'y') + "...`\n");
    refused({"demo", "Once", "upon"},
            "unexpected argument `upon`\nhint: put text of several words in quotes");
    refused({}, "no model given");
}

TEST_CASE("a value may begin with a dash, directly after its option or after --") {
    const auto typed =
        parse(run_options_table(), std::vector<std::string>{"--stop", "--seed=", "demo", "--", "--temp="});
    REQUIRE(typed.has_value());
    REQUIRE(typed_text(*typed, "stop") == "--seed=");
    REQUIRE(typed->positionals == std::vector<std::string>{"demo", "--temp="});
}

TEST_CASE("unknown and missing commands are usage errors") {
    etna::test::Harness etna;
    REQUIRE(etna.run({}).code == 2);
    REQUIRE(contains(etna.run({"rum"}).error,
                     "error: unknown command `rum`\nhint: did you mean `etna rm` or `etna run`?"));
    REQUIRE(etna.run({"rum"}).code == 2);
    REQUIRE(contains(etna.run({"version"}).error, "hint: try `etna --version`"));
}

TEST_CASE("a key file that cannot be read is a usage error that names option and file") {
    etna::test::Harness etna;
    for (const std::string option : {"--api-key-file", "--operator-key-file"}) {
        const auto outcome = etna.run({"serve", "stories", option, "/nonexistent"});
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error, "error: " + option + ": there is no file /nonexistent\n"));
    }
}

TEST_CASE("options before a command are refused") {
    etna::test::Harness etna;
    REQUIRE(contains(etna.run({"--frob"}).error, "unknown option `--frob` before a command"));
}

TEST_CASE("every option has an environment variable; the command line takes precedence") {
    for (const Option& option : run_options_table().options) {
        if (!has_environment_name(option))
            continue;
        const Variables variables = {{environment_name(option), "from environment"}};
        CAPTURE(environment_name(option));
        TypedArguments typed;
        add_environment(run_options_table(), variables, typed);
        CHECK(typed_text(typed, option.name) == "from environment");
        CHECK(typed.options.begin()->second.back().origin == environment_name(option));
        typed.options[std::string(option.name)] = {{"typed", ""}};
        add_environment(run_options_table(), variables, typed);
        CHECK(typed_text(typed, option.name) == "typed");
    }
    REQUIRE(environment_name(*find_option(run_options_table(), "max-tokens")) == "ETNA_MAX_TOKENS");
    TypedArguments typed;
    add_environment(run_options_table(), {{"ETNA_TEMP", ""}, {"ETNA_HELP", "1"}}, typed);
    REQUIRE(typed.options.empty());
}

TEST_CASE("options after -- are refused with the place where they go") {
    Harness etna;
    for (const char* option : {"--temp", "-n"}) {
        const Outcome outcome = etna.run({"run", "stories", "--", "-5", option, "1"});
        CHECK(outcome.code == 2);
        CHECK(outcome.error == fmt::format("error: unexpected argument `{}` after `--`\n"
                                           "hint: options go before `--`: etna run [OPTION]... -- TEXT\n",
                                           option));
    }
    const Outcome outcome = etna.run({"run", "stories", "--raw", "--temp", "0", "--", "-5"});
    CHECK(outcome.code == 0);
    CHECK(contains(etna.prompt, "-5"));
}

TEST_CASE("a missing input file is a usage error that names its origin, before anything is loaded") {
    Harness etna;
    for (const char* option : {"--tools", "--file", "--messages"}) {
        const Outcome outcome = etna.run({"run", "stories", "x", option, "none.json"});
        CAPTURE(option);
        CHECK(outcome.code == 2);
        CHECK(
            contains(outcome.error, fmt::format("error: {}: there is no file `none.json`\nhint: ", option)));
    }
    for (const char* option : {"--json-schema", "--grammar"}) {
        const Outcome outcome = etna.run({"run", "stories", "x", option, "none.json"});
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error, fmt::format("error: {}: there is no file none.json\nhint: ", option)));
    }
    CHECK(etna.run({"chat", "stories", "--tools", "none.json"}).code == 2);
    CHECK(etna.run({"run", "stories", "x", "--chat-template", "./none.jinja"}).code == 2);
    CHECK(etna.run({"serve", "stories", "--tls-cert", "none.pem", "--tls-key", "none.pem"}).code == 2);
    for (const char* option : {"--open", "--page-inspect"}) {
        const auto outcome = etna.run({"serve", "stories", "--no-page", option});
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error, std::string(option) + " needs the web page"));
    }
    CHECK(etna.run({"create", "mine", "-f", "none"}).code == 2);
    etna.variables["ETNA_TOOLS"] = "none.json";
    CHECK(contains(etna.run({"run", "stories", "x"}).error, "error: ETNA_TOOLS: there is no file"));
    CHECK(!etna.asked);
}
