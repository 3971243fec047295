// Sample outputs of every family (tests/data/outputs) as one chunk, in chunks of all sizes, and cut off at
// every byte; and calls rendered by the reference templates (ETNA_REFERENCE_DATA).

#include "core/base/json.hpp"
#include "core/output/parser.hpp"
#include "tests/output/feeding.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::output;
using nlohmann::json;

namespace {

std::string file_content(const std::filesystem::path& path) {
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

const std::vector<jinja::Value>& offered_tools() {
    static const std::vector<jinja::Value> tools = test::values_of(file_content(folder / "tools.json"));
    return tools;
}

Start start_of(const std::string& name) {
    return name == "header" ? Start::header : name == "reasoning" ? Start::reasoning : Start::content;
}

Case case_of(const json& one, const Syntax& syntax) {
    Case result{.name = std::string(syntax.name) + ": " + one["name"].get<std::string>(),
                .syntax = syntax,
                .options = {.start = start_of(one.value("start", "content")),
                            .tools = one.value("tools", true) ? std::span(offered_tools())
                                                              : std::span<const jinja::Value>()},
                .output = one["output"],
                .expected = {.content = one.value("content", ""),
                             .reasoning = one.value("reasoning", ""),
                             .calls = {},
                             .broken = one.value("broken", std::vector<std::string>())},
                .unopened = one.value("unopened", false)};
    for (const auto& call : one.value("calls", json::array())) {
        result.expected.calls.push_back({.name = call["name"],
                                         .id = call.value("id", ""),
                                         .arguments = etna::dump_json(call["arguments"])});
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
        const json file = json::parse(file_content(entry.path()));
        const Syntax* syntax = find_syntax(file["syntax"].get<std::string>());
        REQUIRE(syntax != nullptr);
        for (const auto& one : file["cases"])
            cases.push_back(case_of(one, *syntax));
    }
    return cases;
}

/// Normalizes the spelling of arguments, so that they can be compared.
Output normalized(Output output) {
    for (auto& call : output.calls) {
        const json arguments = json::parse(call.arguments, nullptr, false);
        call.arguments =
            arguments.is_discarded() ? "not JSON: " + call.arguments : etna::dump_json(arguments);
    }
    return output;
}

/// Whether `part` is a prefix of `complete`. White space at its end may belong to a marker that was cut off.
bool is_prefix(const Output& part, const Output& complete) {
    return complete.content.starts_with(test::without_last_space(part.content)) &&
           complete.reasoning.starts_with(part.reasoning) && part.calls.size() <= complete.calls.size() &&
           std::equal(part.calls.begin(), part.calls.end(), complete.calls.begin());
}

// Templates that render calls in another form than their models write.
const std::set<std::string> not_a_call = {
    "ovms-extras--chat_template_phi4_mini", // omits the marker
    "ovms-extras--chat_template_gpt_oss",   // arguments in Python notation; the model writes JSON
    "MiniMax-M3", // objects as nested elements, see its family: nested arguments only
};

struct RenderedCalls {
    std::string text; ///< after the last user message
    json calls;       ///< of the assistant's turn
};

/// Returns nothing if the template refuses the conversation or renders no calls.
std::optional<RenderedCalls> rendered_calls(const json& reference, const json& scenario) {
    const std::string name = scenario["name"];
    const auto& cases = reference["cases"];
    const auto one = std::find_if(cases.begin(), cases.end(),
                                  [&](const json& other) { return other["scenario"] == name; });
    if (one == cases.end() || !one->contains("output") || !(*one)["output"].is_string())
        return std::nullopt;
    RenderedCalls result{.text = (*one)["output"], .calls = {}};
    std::string question;
    for (const auto& message : scenario["inputs"]["messages"]) {
        if (message["role"] == "user")
            question = message["content"];
        if (message.contains("tool_calls"))
            result.calls = message["tool_calls"];
    }
    result.text.erase(0, result.text.rfind(question) + question.size());
    const auto* const proof = name == "toolcall_parallel" ? "celsius" : "max_age";
    if (result.text.find(proof) == std::string::npos)
        return std::nullopt;
    return result;
}

/// Returns the assistant's turn: the text after its header.
std::string turn_of(std::string text) {
    const std::array<std::string_view, 4> heads = {"<|end_header_id|>\n\n", "<|im_start|>assistant\n",
                                                   "[/INST]", "<|assistant|>"};
    for (const auto head : heads) {
        if (const auto at = text.find(head); at != std::string::npos)
            return text.substr(at + head.size());
    }
    return text;
}

} // namespace

TEST_CASE("every sample output is parsed into its expected content, reasoning and calls", "[output]") {
    for (const auto& one : all_cases()) {
        INFO(one.name << "\n" << one.output);
        const auto complete = test::feed(one.syntax, one.options, one.output, {});
        INFO(test::to_string(complete.events));
        CHECK(test::broken_rule(complete.events).empty());
        const Output output = normalized(complete.output);
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

TEST_CASE("events do not depend on chunk boundaries", "[output]") {
    for (const auto& one : all_cases()) {
        std::vector<test::Cuts> ways = {test::every_byte(one.output), test::every_character(one.output)};
        for (unsigned seed = 1; seed <= 8; ++seed)
            ways.push_back(test::random_pieces(one.output, seed));
        for (const auto ending : {Ending::complete, Ending::cut_off}) {
            const auto complete = test::feed(one.syntax, one.options, one.output, {}, ending);
            for (const auto& cuts : ways) {
                const auto pieces = test::feed(one.syntax, one.options, one.output, cuts, ending);
                INFO(one.name << "\n" << one.output << "\n" << cuts.size() + 1 << " pieces");
                CHECK(test::to_string(pieces.events) == test::to_string(complete.events));
                CHECK(pieces.output == complete.output);
            }
        }
    }
}

TEST_CASE("an output cut off at any byte yields a prefix of the complete result", "[output]") {
    for (const auto& one : all_cases()) {
        const Output expected = normalized(test::feed(one.syntax, one.options, one.output, {}).output);
        for (std::size_t bytes = 0; bytes < one.output.size(); ++bytes) {
            const auto text = std::string_view(one.output).substr(0, bytes);
            const auto cut =
                test::feed(one.syntax, one.options, text, test::every_byte(text), Ending::cut_off);
            INFO(one.name << "\n" << text << "\n" << test::to_string(cut.events));
            CHECK(test::broken_rule(cut.events).empty());
            if (!one.unopened) {
                CHECK(is_prefix(normalized(cut.output), expected));
            } else { // a prefix may not show yet that it is reasoning
                CHECK((is_prefix(normalized(cut.output), expected) ||
                       expected.reasoning.starts_with(test::without_last_space(cut.output.content))));
            }
            const auto ended = test::feed(one.syntax, one.options, text, {}, Ending::complete);
            CHECK(test::broken_rule(ended.events).empty());
        }
    }
}

// Test input of OpenAI's own parser: reasoning, a call, and the tool's answer, which is not part of the
// output.
TEST_CASE("a recorded gpt-oss conversation yields its reasoning and call", "[output]") {
    const std::string text = file_content(folder / "harmony_streamable_parser.txt");
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

TEST_CASE("every family has sample outputs", "[output]") {
    std::set<std::string_view> seen;
    for (const auto& one : all_cases())
        seen.insert(one.syntax.name);
    for (const auto& syntax : syntaxes())
        CHECK(seen.contains(syntax.name));
}

TEST_CASE("calls rendered by the reference templates are parsed back", "[output]") {
    const char* folder = std::getenv("ETNA_REFERENCE_DATA");
    if (folder == nullptr) {
        std::cout << "not run: calls of the reference templates, ETNA_REFERENCE_DATA is not set\n";
        return;
    }
    const auto data = std::filesystem::path(folder);
    const json scenarios = json::parse(file_content(data / "templates-expected" / "_scenarios.json"));
    std::size_t read = 0;
    std::size_t left_out = 0;
    for (const auto& scenario : scenarios) {
        if (scenario["name"] != "toolcall_parallel" && scenario["name"] != "toolcall_nested_args")
            continue;
        const auto tools = test::values_of(scenario["inputs"]["tools"].dump());
        for (const auto& entry : std::filesystem::directory_iterator(data / "templates")) {
            const std::string stem = entry.path().stem().string();
            if (entry.path().extension() != ".jinja")
                continue;
            const json reference = json::parse(file_content(data / "templates-expected" / (stem + ".json")));
            const auto text = rendered_calls(reference, scenario);
            const bool nested = scenario["name"] == "toolcall_nested_args";
            if (!text || (not_a_call.contains(stem) && (nested || stem != "MiniMax-M3"))) {
                ++left_out;
                continue;
            }
            const Syntax syntax = detect_syntax(file_content(entry.path()), HasToken());
            const auto fed = test::feed(syntax, {.tools = tools}, turn_of(text->text), {});
            INFO(stem << " " << syntax.name << "\n" << text->text << "\n" << test::to_string(fed.events));
            // some templates render only one call
            const bool only_first =
                fed.output.calls.size() == 1 && text->text.find("Oslo\"") == std::string::npos;
            CHECK((fed.output.calls.size() == text->calls.size() || only_first));
            for (std::size_t i = 0; i < std::min(fed.output.calls.size(), text->calls.size()); ++i) {
                const json& function = text->calls[i]["function"];
                CHECK(fed.output.calls[i].name == function["name"].get<std::string>());
                CHECK(json::parse(fed.output.calls[i].arguments) == function["arguments"]);
            }
            ++read;
        }
    }
    std::cout << "calls read back: " << read << " conversations, " << left_out << " without calls\n";
    CHECK(read > 90);
}
