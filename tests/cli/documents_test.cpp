// Help, man pages and completions agree with the option tables.

#include "cli/commands/documents.hpp"
#include "core/model/arch/registry.hpp"
#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

using namespace etna;
using namespace etna::cli;
using namespace etna::test;

namespace {

std::string unescaped(const std::string& roff) {
    std::string result;
    for (std::size_t i = 0; i < roff.size(); ++i) {
        if (roff[i] != '\\' || i + 1 >= roff.size() || roff[i + 1] != '-')
            result += roff[i];
    }
    return result;
}

} // namespace

TEST_CASE("names in the table are unique and described") {
    for (const Command& command : commands()) {
        std::set<std::string_view> names;
        std::set<char> short_names;
        for (const Option& option : command.options) {
            CAPTURE(option.name);
            CHECK(names.insert(option.name).second);
            CHECK((option.short_name == 0 || short_names.insert(option.short_name).second));
            CHECK(!option.description.empty());
            CHECK(option.description.back() != '.');
            CHECK(option.value.empty() == (option.kind == Kind::flag));
            CHECK(option.choices.empty() == (option.kind != Kind::choice));
        }
    }
}

TEST_CASE("help, man page and completions contain every shown option, and no hidden one") {
    const Command& command =
        *find_command(GENERATE("run", "chat", "serve", "render", "tokenize", "devices", "bench", "plan"));
    const std::string help_text = full_help(command);
    const std::string man_text = unescaped(man_page(command));
    const std::vector<std::string> scripts = {bash_completion(), zsh_completion(), fish_completion()};
    for (const Option& option : command.options) {
        const bool shown = option.visibility == Visibility::shown;
        const std::string name(option.name);
        CAPTURE(name);
        CHECK(contains(help_text, "--" + name) == shown);
        CHECK(contains(man_text, signature(option)) == shown);
        CHECK(contains(scripts[0], "--" + name) == shown);
        CHECK(contains(scripts[1], "--" + name) == shown);
        CHECK(contains(scripts[2], "-l " + name) == shown);
        if (shown && has_environment_name(option))
            CHECK(contains(man_text, environment_name(option)));
    }
    for (const ExitCodeText& code : exit_codes()) {
        CHECK(contains(help_text, fmt::format("\n  {} ", code.code)));
        CHECK(contains(man_text, fmt::format("\\fB{}\\fR", code.code)));
    }
    CHECK(!contains(help(), "generate-docs"));
}

TEST_CASE("help and man page of etna contain the exit codes of every command") {
    for (const ExitCodeText& code : all_exit_codes()) {
        CHECK(contains(help(), fmt::format("\n  {} ", code.code)));
        CHECK(contains(man_page(), fmt::format("\\fB{}\\fR", code.code)));
    }
    const auto has = [](int code) {
        return std::ranges::any_of(all_exit_codes(),
                                   [&](const ExitCodeText& text) { return text.code == code; });
    };
    CHECK((has(0) && has(65) && has(75) && has(143)));
}

TEST_CASE("a man page prints a command in ASCII, so that it can be pasted") {
    CHECK(roff("etna run demo -n 1 'a' ~/b ^c `d`") ==
          "etna run demo \\-n 1 \\(aqa\\(aq \\(ti/b \\(hac \\(aqd\\(aq");
    CHECK(roff(".a\n'b\n.c") == "\\&.a\n\\(aqb\n\\&.c");
    CHECK(roff("\\d") == "\\ed");
}

TEST_CASE("help lines fit a terminal of 80 columns") {
    for (const std::string& page :
         {help(), help(*find_command("run")), full_help(*find_command("run")),
          help(*find_command("completion")), help(*find_command("tokenize")), help(*find_command("devices")),
          help(*find_command("bench")), help(*find_command("plan"))}) {
        std::size_t start = 0;
        while (start < page.size()) {
            const std::size_t end = page.find('\n', start);
            const std::string line = page.substr(start, end - start);
            CAPTURE(line);
            CHECK(line.size() <= 80);
            CHECK((line.empty() || line.back() != ' '));
            start = end + 1;
        }
    }
}

TEST_CASE("--help-all lists every option of a command, and --help those of a command with few") {
    etna::test::Harness etna;
    for (const Command& command : commands()) {
        if (command.visibility != Visibility::shown || command.name == "completion")
            continue;
        CAPTURE(command.name);
        CHECK(etna.run({std::string(command.name), "--help-all"}).output == full_help(command));
    }
    for (const char* name : {"plan", "embed", "ps"})
        CHECK(help(*find_command(name)) == full_help(*find_command(name)));
}

TEST_CASE("the help of commands with many options fits a screen and names --help-all") {
    etna::test::Harness etna;
    for (const char* name : {"run", "chat", "serve"}) {
        const Command& command = *find_command(name);
        const std::string page = help(command);
        CAPTURE(page);
        const auto lines = std::count(page.begin(), page.end(), '\n');
        CHECK(lines >= 24);
        CHECK(lines <= 40);
        CHECK(contains(page, "--help-all"));
        CHECK(contains(page, "\nExamples:\n"));
        CHECK(etna.run({name, "--help"}).output == page);
        CHECK(etna.run({name, "--help-all"}).output == full_help(command));
    }
    CHECK(contains(help(*find_command("run")), "--max-tokens N"));
    CHECK(!contains(help(*find_command("run")), "--dry-base"));
    CHECK(contains(full_help(*find_command("run")), "--dry-base"));
    CHECK(help(*find_command("devices")) == full_help(*find_command("devices"))); // few options
}

TEST_CASE("help and man page of serve document that clients behind one address count as one without keys") {
    const Command& serve = *find_command("serve");
    const std::string brief = std::regex_replace(help(serve), std::regex("\\s+"), " ");
    CHECK(contains(brief, "all clients behind one address count as one"));
    CHECK(contains(unescaped(man_page(serve)), "all clients behind one address count as one"));
    CHECK(contains(full_help(serve), "--client-header NAME"));
    CHECK(contains(full_help(serve), "--trusted-proxy ADDRESS[/BITS]"));
    CHECK(contains(full_help(serve), "--any-model-name"));
    CHECK(!contains(full_help(serve), "strict-models"));
}

TEST_CASE("the committed man pages match the tables") {
    std::vector<std::pair<std::string, std::string>> pages = {{"etna.1", man_page()}};
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            pages.emplace_back(fmt::format("etna-{}.1", command.name), man_page(command));
    }
    for (const auto& [name, page] : pages) {
        std::ifstream file(ETNA_SOURCE_DIR "/man/" + name, std::ios::binary);
        const std::string committed{std::istreambuf_iterator<char>(file), {}};
        INFO(name << ": renew it with scripts/generate-docs");
        CHECK(committed == page);
    }
}

TEST_CASE("the committed lists of architectures, APIs and routes match their tables") {
    for (const auto& [name, path] : {std::pair{"README.md", "/README.md"},
                                     {"MODELS.md", "/core/model/MODELS.md"},
                                     {"etna-models.7", "/man/etna-models.7"},
                                     {"etna-api.7", "/man/etna-api.7"}}) {
        std::ifstream file(ETNA_SOURCE_DIR + std::string(path), std::ios::binary);
        const std::string committed{std::istreambuf_iterator<char>(file), {}};
        INFO("renew it with scripts/generate-docs");
        CHECK(renewed_page(name, committed).value() == committed);
    }
}

TEST_CASE("a list of architectures is written between its marks, and has each architecture") {
    const std::string before = "a\n<!-- architectures: written by scripts/generate-docs -->\n";
    const std::string after = "<!-- end of architectures -->\nb\n";
    const std::string page = renewed_page("MODELS.md", before + "| outdated |\n" + after).value();
    CHECK(page.starts_with(before + "| `general.architecture` |"));
    CHECK(page.ends_with("|\n" + after));
    CHECK(!contains(page, "outdated"));
    for (const model::Architecture* architecture : model::architectures()) {
        CAPTURE(architecture->name);
        CHECK(contains(page, fmt::format("| `{}` | {} |", architecture->name, architecture->models)));
        CHECK(!architecture->models.empty());
        CHECK(!architecture->peer.empty());
        CHECK(!architecture->definition.empty());
        CHECK(!architecture->checks.empty());
    }
    for (const std::string& unmarked : {before, after, after + before})
        CHECK(renewed_page("MODELS.md", unmarked).error().kind == ErrorKind::invalid_argument);
    CHECK(std::ranges::is_sorted(model::architectures(), {}, &model::Architecture::name));
    etna::test::Harness etna;
    etna.input_kind = InputKind::pipe;
    etna.input = before + after;
    CHECK(etna.run({"generate-docs", "MODELS.md"}).output == page);
}

TEST_CASE("help, version and documents are printed to standard output with code 0") {
    etna::test::Harness etna;
    const auto printed = [&](const std::vector<std::string>& arguments) {
        const auto outcome = etna.run(arguments);
        CHECK(outcome.code == 0);
        CHECK(outcome.error.empty());
        return outcome.output;
    };
    const Command& run = *find_command("run");
    CHECK(printed({"--help"}) == help());
    CHECK(printed({"-h"}) == help());
    CHECK(printed({"help", "run"}) == help(run));
    CHECK(printed({"run", "--help"}) == help(run));
    CHECK(printed({"run", "demo", "x", "-h", "-n", "0"}) ==
          help(run)); // help comes before what else is wrong
    CHECK(printed({"--version"}) == "etna " ETNA_VERSION "\n");
    CHECK(printed({"completion", "--help"}) == help(*find_command("completion")));
    CHECK(printed({"completion", "bash"}) == bash_completion());
    CHECK(printed({"completion", "zsh"}) == zsh_completion());
    CHECK(printed({"completion", "fish"}) == fish_completion());
    CHECK(printed({"generate-docs", "etna.1"}) == man_page());
    CHECK(etna.run({"generate-docs", "cobol"}).code == 2);
    CHECK(etna.run({"completion"}).error == "error: no shell given\nhint: use bash, zsh or fish\n");
    CHECK(etna.run({"completion", "cobol"}).error ==
          "error: there is no completion for `cobol`\nhint: use bash, zsh or fish\n");
    CHECK(etna.run({"completion", "cobol"}).code == 2);
}

TEST_CASE("completion is listed, and does not read settings of `run`") {
    CHECK(contains(help(), "\n  completion "));
    CHECK(contains(man_page(), "\\fBcompletion\\fR"));
    CHECK(contains(bash_completion(), "compgen -W \"bash zsh fish\""));
    CHECK(!contains(bash_completion(), "COMP_WORDBREAKS=")); // it is the user's, for all commands
    CHECK(contains(zsh_completion(), ":SHELL:(bash zsh fish)"));
    CHECK(contains(fish_completion(), "-f -a 'bash zsh fish'"));
    CHECK(!contains(help(*find_command("completion")), "ETNA_"));
    etna::test::Harness etna;
    etna.write(".config/etna/config.toml", "temp = 0.5\n");
    CHECK(etna.run({"completion", "bash"}).code == 0);
}

TEST_CASE("the pages document arguments, precedence and files") {
    const std::string page = unescaped(man_page(*find_command("run")));
    CHECK(contains(page, "other names that begin with ETNA_ are ignored"));
    CHECK(contains(page, "the name demo always means the built-in model"));
    CHECK(contains(page, "-ngl, --gpu-layers, "));
    CHECK(contains(page, "\\fB--predict, --n-predict, --num-predict\\fR\n--max-tokens\n"));
    CHECK(contains(page, "refused: name the file after the colon"));
}

TEST_CASE("a page that cannot be written is reported as an error") {
    etna::test::Harness etna;
    const int full = ::open("/dev/full", O_WRONLY);
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                      {"--version"},
                                                      {"run", "--help"},
                                                      {"run", "--help-all"},
                                                      {"completion", "bash"},
                                                      {"generate-docs", "etna.1"},
                                                      {"devices", "--json"},
                                                      {"tokenize", "demo", "x"},
                                                      {"serve", "--routes"},
                                                      {"run", "demo", "x"},
                                                      {"run", "demo", "x", "--json"},
                                                      {"run", "demo", "x", "--n", "2"},
                                                      {"run", "demo", "x", "--n", "2", "--json"}}) {
        const auto outcome = etna.run_into(full, arguments);
        CAPTURE(arguments);
        CHECK(outcome.code == 1);
        CHECK(outcome.error == "error: cannot write to standard output: No space left on device\n");
    }
    ::close(full);
    const int unwritable = ::open("/dev/null", O_RDONLY); // as open_standard_streams() opens it
    CHECK(etna.run_into(unwritable, {"--version"}).error ==
          "error: cannot write to standard output: Bad file descriptor\n");
    ::close(unwritable);
}
