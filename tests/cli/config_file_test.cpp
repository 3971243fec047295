// config.toml: values, precedence and error messages.

#include "cli/options/config_file.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <random>

#include <fmt/format.h>
#include <sys/stat.h>

using namespace etna;
using namespace etna::cli;
using namespace etna::test;

namespace {

const std::string config_path = ".config/etna/config.toml";

/// Options as `name=value` with commas between a list's, or the error.
std::string read_config(const std::string& content) {
    TypedArguments typed;
    const auto status = add_config(*find_command("run"), content, "config.toml", typed);
    if (!status) {
        const std::string& message = status.error().message;
        return message.substr(message.find("config.toml"));
    }
    std::string result;
    for (const auto& [name, values] : typed.options) {
        result += (result.empty() ? "" : " ") + name + "=";
        for (const TypedValue& value : values)
            result += (&value == values.data() ? "" : ",") + value.text;
    }
    return result;
}

} // namespace

TEST_CASE("the configuration file has the lowest precedence") {
    const etna::test::Harness etna;
    const auto file = etna.write(config_path, "# my settings\ntemp = 0.25\nseed = 9\nstop = [\"a\", \"b\"]\n"
                                              "[run]\nraw = true\n[serve]\nport = 80\n");
    TypedArguments typed;
    typed.options["seed"] = {{"1", "--seed"}};
    REQUIRE(add_config_file(*find_command("run"), file, typed).has_value());
    REQUIRE(typed.options["temp"].back().text == "0.25");
    REQUIRE(typed.options["temp"].back().origin == "config.toml:2: temp");
    REQUIRE(typed.options["seed"].back().text == "1");
    REQUIRE(typed.options["raw"].back().text == "true");
    REQUIRE(typed.options["stop"].size() == 2);
    REQUIRE(add_config_file(*find_command("run"), "/nonexistent/config.toml", typed).has_value());
    REQUIRE(add_config_file(*find_command("run"), "/dev/null/config.toml", typed).has_value());
    REQUIRE(add_config_file(*find_command("run"), {}, typed).has_value());
}

TEST_CASE("all TOML forms of settings are accepted") {
    REQUIRE(read_config("").empty());
    REQUIRE(read_config("\xef\xbb\xbftemp = 1") == "temp=1"); // a byte order mark
    REQUIRE(read_config("temp=1e-1\r\nseed = 4_294 # a comment\r\n\r\n\t# another\n") ==
            "seed=4294 temp=0.1");
    REQUIRE(read_config("seed = 0x10\nstop = \"\"\"\na\nb\"\"\"") == "seed=16 stop=a\nb");
    REQUIRE(read_config("temp = +0.5\ntop-p = 1\n'min-p' = 0.0_1\n\"raw\" = false") ==
            "min-p=0.01 raw=false temp=0.5 top-p=1");
    REQUIRE(read_config("kv-memory = \"512M\"\nkv-type = 'f32'\ndevice = \"0\"") ==
            "device=0 kv-memory=512M kv-type=f32");
    REQUIRE(read_config("kv-memory = 65536") == "kv-memory=65536");
    REQUIRE(read_config("stop = \"\\u00e4\\n\\\"\\\\\\U0001F436#\" # c") ==
            "stop=\xc3\xa4\n\"\\\xf0\x9f\x90\xb6#");
    REQUIRE(read_config("stop = 'a\\n'") == "stop=a\\n");
    REQUIRE(read_config("stop = [ # the ends\n  \"a\",\n  'b' , # the last\n]\nseed=1") == "seed=1 stop=a,b");
    REQUIRE(read_config("stop = []") == "stop=");
    REQUIRE(read_config("run.temp = 1\n[serve.limits]\nodd = [1, true]") == "temp=1");
    REQUIRE(read_config("temp = 1\nstop = 'a'\n[run]\ntemp = 2\nstop = 'b'") ==
            "stop=b temp=2"); // the section takes precedence
}

TEST_CASE("invalid TOML and values of another kind are refused with line and key") {
    REQUIRE(contains(read_config("seed = 1\ntemp\n"),
                     "config.toml:2: Error while parsing key-value pair: expected '='"));
    REQUIRE(contains(read_config("\ntemp = 1\ntemp = 1"), "config.toml:3: "));
    REQUIRE(contains(read_config("[run]\n[run]"), "config.toml:2: "));
    for (const char* value :
         {"", "warm", "01", "1__0", "_1", "1_", ".5", "1.", "1e", "--1", "1.5.2", "True", "1 2"})
        CHECK(contains(read_config(std::string("temp = ") + value), "config.toml:1: Error while parsing"));
    for (const char* line : {"[run\ntemp = 1", "= 1", "stop = [\"a\" \"b\"]", "stop = \"a\n\"", "stop = '"})
        CHECK(contains(read_config(line), "config.toml:"));
    for (const char* escape : {"\\q", "\\u12", "\\ud800", "\\U00110000", "\\"})
        CHECK(contains(read_config(std::string("stop = \"") + escape + "\""),
                       "config.toml:1: Error while parsing"));

    REQUIRE(read_config("\nraw = \"yes\"") == "config.toml:2: raw: true or false is expected");
    REQUIRE(read_config("temp = \"0.5\"") == "config.toml:1: temp: a number is expected");
    REQUIRE(read_config("seed = 1.5") == "config.toml:1: seed: a whole number is expected");
    REQUIRE(read_config("temp = [1]") == "config.toml:1: temp: a number is expected");
    REQUIRE(read_config("kv-type = 16") == "config.toml:1: kv-type: text in quotes is expected");
    REQUIRE(read_config("stop = [\"a\", 1]") ==
            "config.toml:1: stop: text in quotes, or an array of it is expected");
    REQUIRE(read_config("stop = [[\"a\"]]") ==
            "config.toml:1: stop: text in quotes, or an array of it is expected");
    REQUIRE(read_config("temp = {a = 1}") == "config.toml:1: temp: a number is expected");
    REQUIRE(read_config("temp = 2026-11-20") == "config.toml:1: temp: a number is expected");
    REQUIRE(contains(read_config("kv-memory = true"), "config.toml:1: kv-memory: a size in bytes"));
    REQUIRE(read_config("temprature = 1") == "config.toml:1: unknown key `temprature`");
    REQUIRE(read_config("[server]\napi-key = 'k'") == "config.toml:1: unknown section `server`");
    REQUIRE(read_config("\nnobody.temp = 1") == "config.toml:2: unknown section `nobody`");
    REQUIRE(read_config("help = true") == "config.toml:1: unknown key `help`");
    REQUIRE(read_config(std::string(15000, 'x') + " = 1") ==
            "config.toml:1: unknown key `" + std::string(100, 'x') + "...`");
    REQUIRE(read_config(std::string(15000, '[')).size() < 200);
    REQUIRE(read_config("stop = " + std::string(15000, '[')).size() < 200);
}

TEST_CASE("keys and values may nest as deeply as a file of maximum size allows") {
    for (const auto& [open, part, close] : {std::array<const char*, 3>{"x", ".x", "=1"},
                                            {"[x", ".x", "]"},
                                            {"x=", "[", ""},
                                            {"x=", "{a=", ""},
                                            {"x={a", ".a", "=1}"},
                                            {"", "[", ""}}) {
        std::string text = open;
        while (text.size() + 8 < config_bytes_max)
            text += part;
        CHECK(read_config(text + close).size() < 300);
    }
}

TEST_CASE("no text of TOML punctuation ends the process") {
    constexpr std::string_view signs = "[[]]{}==..,,\"\"''#\n\nab01-:+_eETZ \\ux";
    std::mt19937 random(7);
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        for (std::size_t size = random() % 24; size > 0; --size)
            text += signs[random() % signs.size()];
        CAPTURE(text);
        CHECK(read_config(text).size() < 300);
    }
}

TEST_CASE("consent comes from the command line alone") {
    etna::test::Harness etna;
    for (const char* name : {"rm", "pull", "run", "chat"}) {
        CAPTURE(name);
        TypedArguments typed;
        add_environment(*find_command(name), {{"ETNA_YES", "1"}}, typed);
        CHECK(typed.options.empty());
        const auto status = add_config(*find_command(name), "yes = true", "config.toml", typed);
        REQUIRE(!status);
        CHECK(status.error().message == "config.toml:1: yes: only the command line can set it");
        CHECK(!add_config(*find_command(name), fmt::format("[{}]\nyes = true", name), "config.toml", typed));
    }
    etna.write(config_path, "[rm]\nyes = true\n");
    const auto outcome = etna.run({"rm", "stories"});
    CHECK(outcome.code == 2);
    CHECK(contains(outcome.error, "config.toml:2: yes: only the command line can set it\n"
                                  "hint: remove the line, and type --yes with each command that needs it"));
}

TEST_CASE("consent in the environment removes no model") {
    etna::test::Harness etna;
    REQUIRE(etna.run({"create", "terse", "--from", "stories"}).code == 0);
    etna.variables["ETNA_YES"] = "1";
    CHECK(contains(etna.run({"rm", "terse"}).error, "there is no terminal to ask at\nhint: add --yes"));
    CHECK(etna.run({"rm", "--yes", "terse"}).code == 0);
}

TEST_CASE("a broken configuration file is a usage error, but not for help") {
    etna::test::Harness etna;
    etna.write(config_path, "temp = 101\n");
    const auto outcome = etna.run({"run", "stories", "x"});
    REQUIRE(outcome.code == 2);
    REQUIRE(contains(outcome.error, "error: config.toml:1: temp: `101` is out of range: 0 to 100\nhint: "));
    REQUIRE(etna.run({"run", "stories", "x", "--temp", "1"}).code == 0); // another value counts
    etna.write(config_path, "temp\n");
    REQUIRE(etna.run({"run", "stories", "x"}).code == 2);
    REQUIRE(etna.run({"run", "--help"}).code == 0);
}

TEST_CASE("a configuration file that is not regular, or endless, is refused") {
    etna::test::Harness etna;
    const auto file = etna.write(config_path, "");
    const auto refused = [&](const std::string& why) {
        const auto outcome = etna.run({"run", "stories", "x"});
        CAPTURE(outcome.error);
        CHECK(outcome.code == 2);
        CHECK(contains(outcome.error,
                       "error: cannot read the configuration file " + file.string() + ": " + why));
    };
    etna.write(config_path, std::string(config_bytes_max, '\n'));
    REQUIRE(etna.run({"run", "stories", "x"}).code == 0);
    etna.write(config_path, std::string(config_bytes_max + 1, '\n'));
    refused("it is longer than 16 KiB");
    std::filesystem::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0); // a pipe without a writer
    refused("it is not a regular file");
    for (const char* target : {"/dev/zero", "/"}) {
        std::filesystem::remove(file);
        std::filesystem::create_symlink(target, file);
        refused("it is not a regular file");
    }
    std::filesystem::remove(file);
    std::filesystem::create_symlink(file, file);
    refused("Too many levels of symbolic links");
}

TEST_CASE("an unknown key suggests the nearest ones, of any command if the command has none") {
    Harness etna;
    etna.write(".config/etna/config.toml", "tempp = 0.5\n");
    CHECK(
        contains(etna.run({"run", "stories", "x"}).error, "unknown key `tempp`\nhint: did you mean temp?\n"));
    CHECK(contains(etna.run({"list"}).error, "unknown key `tempp`\nhint: did you mean temp?\n"));
}
