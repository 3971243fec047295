// Outputs of every family (tests/data/outputs), fed whole, in pieces, by character and byte, and cut at every
// byte.

#include "core/output/parser.hpp"
#include "tests/output/feeding.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::output;
using nlohmann::json;

namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

const std::filesystem::path folder = std::filesystem::path(ETNA_TEST_DATA) / "outputs";

struct Case {
    std::string name;
    Syntax syntax;
    ParserOptions options;
    std::string output;
    Output expected;
    bool unopened = false;
};

const std::string& offered_tools() {
    static const std::string tools = content_of(folder / "tools.json");
    return tools;
}

Start start_of(const std::string& name) {
    return name == "header" ? Start::header : name == "reasoning" ? Start::reasoning : Start::content;
}

Case case_of(const json& one, const Syntax& syntax) {
    Case result{.name = std::string(syntax.name) + ": " + one["name"].get<std::string>(),
                .syntax = syntax,
                .options = {.start = start_of(one.value("start", "content")),
                            .tools = one.value("tools", true) ? std::string_view(offered_tools()) : "[]"},
                .output = one["output"],
                .expected = {.content = one.value("content", ""),
                             .reasoning = one.value("reasoning", ""),
                             .calls = {},
                             .broken = one.value("broken", std::vector<std::string>())},
                .unopened = one.value("unopened", false)};
    for (const auto& call : one.value("calls", json::array())) {
        result.expected.calls.push_back(
            {.name = call["name"], .id = call.value("id", ""), .arguments = call["arguments"].dump()});
    }
    if (result.unopened || one.value("reasons", false))
        result.syntax.reasoning.front().expected = true;
    return result;
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".json" || entry.path().filename() == "tools.json")
            continue;
        const json file = json::parse(content_of(entry.path()));
        const Syntax* syntax = find_syntax(file["syntax"].get<std::string>());
        REQUIRE(syntax != nullptr);
        for (const auto& one : file["cases"])
            cases.push_back(case_of(one, *syntax));
    }
    return cases;
}

/// Arguments in one spelling, so that they can be compared.
Output plain(Output output) {
    for (auto& call : output.calls) {
        const json arguments = json::parse(call.arguments, nullptr, false);
        call.arguments = arguments.is_discarded() ? "no JSON: " + call.arguments : arguments.dump();
    }
    return output;
}

/// White space at the end of what was cut off may be a mark's, which has not come.
bool begins(const Output& part, const Output& whole) {
    return whole.content.starts_with(test::without_last_space(part.content)) &&
           whole.reasoning.starts_with(part.reasoning) && part.calls.size() <= whole.calls.size() &&
           std::equal(part.calls.begin(), part.calls.end(), whole.calls.begin());
}

} // namespace

TEST_CASE("every output becomes what it says", "[output]") {
    for (const auto& one : all_cases()) {
        INFO(one.name << "\n" << one.output);
        const auto whole = test::feed(one.syntax, one.options, one.output, {});
        INFO(test::to_string(whole.events));
        CHECK(test::broken_rule(whole.events).empty());
        const Output output = plain(whole.output);
        CHECK(output.content == one.expected.content);
        CHECK(output.reasoning == one.expected.reasoning);
        CHECK(output.broken == one.expected.broken);
        CHECK(output.calls.size() == one.expected.calls.size());
        for (std::size_t i = 0; i < std::min(output.calls.size(), one.expected.calls.size()); ++i) {
            CHECK(output.calls[i].name == one.expected.calls[i].name);
            CHECK(output.calls[i].id == one.expected.calls[i].id);
            CHECK(output.calls[i].arguments == one.expected.calls[i].arguments);
        }
    }
}

TEST_CASE("an output gives the same however it is cut into pieces", "[output]") {
    for (const auto& one : all_cases()) {
        std::vector<test::Cuts> ways = {test::every_byte(one.output), test::every_character(one.output)};
        for (unsigned seed = 1; seed <= 8; ++seed)
            ways.push_back(test::random_pieces(one.output, seed));
        for (const auto ending : {Ending::complete, Ending::cut_off}) {
            const auto whole = test::feed(one.syntax, one.options, one.output, {}, ending);
            for (const auto& cuts : ways) {
                const auto pieces = test::feed(one.syntax, one.options, one.output, cuts, ending);
                INFO(one.name << "\n" << one.output << "\n" << cuts.size() + 1 << " pieces");
                CHECK(test::to_string(pieces.events) == test::to_string(whole.events));
                CHECK(pieces.output == whole.output);
            }
        }
    }
}

TEST_CASE("an output that is cut off at any byte gives a beginning of the whole one", "[output]") {
    for (const auto& one : all_cases()) {
        const Output expected = plain(test::feed(one.syntax, one.options, one.output, {}).output);
        for (std::size_t bytes = 0; bytes < one.output.size(); ++bytes) {
            const auto text = std::string_view(one.output).substr(0, bytes);
            const auto cut =
                test::feed(one.syntax, one.options, text, test::every_byte(text), Ending::cut_off);
            INFO(one.name << "\n" << text << "\n" << test::to_string(cut.events));
            CHECK(test::broken_rule(cut.events).empty());
            if (!one.unopened) {
                CHECK(begins(plain(cut.output), expected));
            } else { // before its end nobody can know that it is reasoning
                CHECK((begins(plain(cut.output), expected) ||
                       expected.reasoning.starts_with(test::without_last_space(cut.output.content))));
            }
            const auto ended = test::feed(one.syntax, one.options, text, {}, Ending::complete);
            CHECK(test::broken_rule(ended.events).empty());
        }
    }
}

// The input of a test of OpenAI's own parser: reasoning, a call, and the tool's answer, which is no output.
TEST_CASE("a recorded conversation of gpt-oss", "[output]") {
    const std::string text = content_of(folder / "harmony_streamable_parser.txt");
    REQUIRE(text.size() > 500);
    for (const auto& cuts : {test::Cuts(), test::every_byte(text), test::random_pieces(text, 1)}) {
        const auto fed = test::feed(*find_syntax("harmony"),
                                    {.start = Start::header, .tools = offered_tools()}, text, cuts);
        INFO(test::to_string(fed.events));
        CHECK(fed.output.content.empty());
        CHECK(fed.output.reasoning.starts_with("User asks \"Who is the current US president?\""));
        CHECK(fed.output.reasoning.ends_with("Let's browse to confirm."));
        REQUIRE(fed.output.calls.size() == 1);
        CHECK(fed.output.calls[0].name == "browser.search");
        CHECK(json::parse(fed.output.calls[0].arguments) ==
              json({{"query", "current US president July 2025"}, {"topn", 10}, {"source", "news"}}));
        CHECK(fed.output.broken.empty());
    }
}

TEST_CASE("there are outputs of every family", "[output]") {
    std::set<std::string_view> seen;
    for (const auto& one : all_cases())
        seen.insert(one.syntax.name);
    for (const auto& syntax : syntaxes())
        CHECK(seen.contains(syntax.name));
}
