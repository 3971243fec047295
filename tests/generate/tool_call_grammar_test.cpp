// Grammars of answers with strict tools: in every family, each sampled answer parses into calls of offered
// functions with valid arguments.

#include "core/base/json.hpp"
#include "core/generate/answer_grammar.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "tests/generate/calls.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using namespace etna::test::calls;
using output::Ending;
using output::Start;
using output::Syntax;

TEST_CASE("a required call parses as a call of an offered function with valid arguments, in every family") {
    constexpr uint32_t rounds = 6;
    int complete = 0;
    int cut = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Markers markers : {Markers::spelled, Markers::tokens}) {
            const Tokens vocabulary(syntax, markers);
            grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
            for (const std::string_view name : {"", "mixed", "search-docs_2", "get_weather", "edit", "now"}) {
                for (uint32_t round = 0; round < rounds; ++round) {
                    const auto grammar = grammar_of({.syntax = syntax,
                                                     .tools = tools,
                                                     .required = name,
                                                     .allows_parallel = round % 2 == 0,
                                                     .start = start_of(syntax)},
                                                    grammars);
                    const Sample sample = sample_answer(grammar, vocabulary, round * 7919 + 1);
                    const test::Fed fed = read(syntax, sample);
                    CAPTURE(syntax.name, name, sample.text, sample.is_complete, test::to_string(fed.events));
                    check_calls(fed.output.calls);
                    ++(sample.is_complete ? complete : cut);
                    if (!sample.is_complete)
                        continue;
                    REQUIRE(fed.output.broken.empty());
                    REQUIRE(fed.output.content.empty());
                    REQUIRE_FALSE(fed.output.calls.empty());
                    REQUIRE((round % 2 == 0 || fed.output.calls.size() == 1));
                    for (const auto& call : fed.output.calls)
                        REQUIRE((name.empty() || call.name == name));
                    if (name == "get_weather") {
                        REQUIRE(fits(grammar, sample.text));
                        REQUIRE_FALSE(fits(grammar, replaced(sample.text, "get_weather", "get_wether")));
                        REQUIRE_FALSE(fits(grammar, replaced(sample.text, "unit", "units")));
                        const std::string in_kelvin =
                            replaced(replaced(sample.text, "celsius", "kelvin"), "fahrenheit", "kelvin");
                        REQUIRE_FALSE(fits(grammar, in_kelvin));
                    }
                }
            }
        }
    }
    std::cout << "calls: " << complete << " complete answers parsed, " << cut << " cut off\n";
    CHECK(complete > cut);
}

TEST_CASE("with strict functions, calls have valid arguments, in every family") {
    int with_calls = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Markers markers : {Markers::spelled, Markers::tokens}) {
            const Tokens vocabulary(syntax, markers);
            grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
            const auto grammar =
                grammar_of({.syntax = syntax, .tools = tools, .start = start_of(syntax)}, grammars);
            for (uint32_t round = 0; round < 30; ++round) {
                const Sample sample = sample_answer(grammar, vocabulary, round * 104729 + 5);
                const test::Fed fed = read(syntax, sample);
                CAPTURE(syntax.name, sample.text, sample.is_complete, test::to_string(fed.events));
                check_calls(fed.output.calls);
                REQUIRE((!sample.is_complete || fed.output.broken.empty()));
                with_calls += fed.output.calls.empty() ? 0 : 1;
            }
        }
    }
    CHECK(with_calls > 100);
}

TEST_CASE("a constrained answer is either valid content or valid calls, in every family") {
    const Json schema = etna::parse_json(R"({"type": "object", "properties": {"s": {"type": "string"},
        "b": {"enum": ["<tool_call>", "x"]}}, "required": ["s", "b"], "additionalProperties": false})");
    int with_calls = 0;
    int with_content = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        const Tokens vocabulary(syntax, Markers::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const auto grammar = grammar_of({.syntax = syntax,
                                         .tools = tools,
                                         .content = grammar::Description{.text = etna::dump_json(schema)},
                                         .start = start_of(syntax)},
                                        grammars);
        for (uint32_t round = 0; round < 30; ++round) {
            const Sample sample = sample_answer(grammar, vocabulary, round * 15485863 + 11);
            const test::Fed fed = read(syntax, sample);
            CAPTURE(syntax.name, sample.text, test::to_string(fed.events));
            check_calls(fed.output.calls);
            if (!sample.is_complete)
                continue;
            REQUIRE(fed.output.broken.empty());
            REQUIRE((fed.output.calls.empty() != fed.output.content.empty()));
            if (fed.output.calls.empty())
                REQUIRE(violated_keyword(schema, etna::parse_json(fed.output.content), schema).empty());
            ++(fed.output.calls.empty() ? with_content : with_calls);
        }
    }
    CHECK(with_calls > 50);
    CHECK(with_content > 50);
}

TEST_CASE("constrained content is delivered unchanged even if its strings contain protocol markers") {
    int allowed = 0;
    int refused = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        if (!syntax.messages.open.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        for (const auto& offered : {tools, std::vector<jinja::Value>()}) {
            const auto grammar =
                grammar_of({.syntax = syntax,
                            .tools = offered,
                            .content = grammar::Description{.text = R"({"type": "string"})"}},
                           grammars);
            for (const std::string_view marker : syntax.markers(output::Calls::expected)) {
                const std::string text = Json("a " + std::string(marker) + " b").dump();
                const bool is_allowed = fits(grammar, text);
                ++(is_allowed ? allowed : refused);
                const test::Fed fed = test::feed(syntax, {.tools = offered, .is_structured = true}, text, {});
                CAPTURE(syntax.name, offered.size(), text, test::to_string(fed.events));
                if (is_allowed)
                    REQUIRE(fed.output.content == text);
            }
        }
    }
    CHECK(allowed > 100);
    CHECK(refused > 50);
}

TEST_CASE("open reasoning precedes calls, and ends at a call in some families") {
    for (const Syntax& syntax : output::syntaxes()) {
        if (syntax.reasoning.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        auto description = describe_answer({.syntax = syntax, .tools = tools, .required = ""});
        REQUIRE(description.has_value());
        (*description)->reasoning = reasoning_in(syntax, {}, /*is_open=*/true);
        for (const auto& section : syntax.sections) {
            for (const auto open : section.open) {
                if (syntax.call_ends_reasoning)
                    (*description)->reasoning->without.push_back(trimmed(open));
            }
        }
        const auto grammar = grammars.make(**description).value();
        int with_calls = 0;
        for (uint32_t round = 0; round < 12; ++round) {
            const Sample sample = sample_answer(grammar, vocabulary, round * 31 + 3);
            const test::Fed fed = test::feed(syntax, {.start = Start::reasoning, .tools = tools}, sample.text,
                                             {}, sample.is_complete ? Ending::complete : Ending::cut_off);
            CAPTURE(syntax.name, sample.text, test::to_string(fed.events));
            check_calls(fed.output.calls);
            if (!sample.is_complete)
                continue;
            ++with_calls;
            REQUIRE(fed.output.broken.empty());
            REQUIRE_FALSE(fed.output.calls.empty());
        }
        CAPTURE(syntax.name);
        CHECK(with_calls > 0);
    }
}

TEST_CASE("the grammar of every family accepts its sample outputs") {
    const std::filesystem::path folder = std::filesystem::path(ETNA_TEST_DATA) / "outputs";
    const auto read_file = [](const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    Json offered = etna::parse_json(read_file(folder / "tools.json"));
    for (Json& tool : offered)
        tool["function"]["strict"] = true;
    const auto strict_tools = test::values_of(etna::dump_json(offered));
    for (const Syntax& syntax : output::syntaxes()) {
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const Json cases =
            etna::parse_json(read_file(folder / (std::string(syntax.name) + ".json")))["cases"];
        int allowed = 0;
        for (const Json& one : cases) {
            if (!one.contains("calls") || one.contains("broken"))
                continue;
            const std::string output = one["output"];
            auto description = describe_answer(
                {.syntax = syntax,
                 .tools = strict_tools,
                 .start = one.value("start", "") == "header" ? Start::header : Start::content});
            REQUIRE(description.has_value());
            if (one.contains("reasoning") && syntax.messages.open.empty()) {
                (*description)->reasoning =
                    reasoning_in(syntax, output, one.value("start", "") == "reasoning");
            }
            const auto grammar = grammars.make(**description).value();
            const bool is_allowed = fits(grammar, output);
            allowed += is_allowed ? 1 : 0;
        }
        CAPTURE(syntax.name);
        CHECK(allowed > 0);
    }
}

TEST_CASE("markers that end the answer are not part of its grammar") {
    const Syntax& harmony = *output::find_syntax("harmony");
    const Tokens vocabulary(harmony, Markers::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
    const AnswerForm form = {
        .syntax = harmony,
        .tools = tools,
        .required = "now",
        .is_end_token = [](std::string_view name) { return name == "<|call|>" || name == "<|return|>"; },
        .start = Start::header};
    const auto grammar = grammar_of(form, grammars);
    const std::string call = "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}";
    CHECK(fits(grammar, call));
    CHECK(fits(grammar, "<|channel|>analysis<|message|>So.<|end|><|start|>assistant" + call));
    CHECK_FALSE(fits(grammar, call + "<|call|>"));
    CHECK_FALSE(fits(grammar, "<|channel|>final<|message|>No."));
}

TEST_CASE("answers without strict functions are unconstrained, and unwritable function names are refused") {
    const Syntax& hermes = *output::find_syntax("hermes");
    const auto free = describe_answer(
        {.syntax = hermes,
         .tools = test::values_of(R"([{"name": "f", "parameters": {"uniqueItems": true}}])")});
    REQUIRE(free.has_value());
    const Tokens vocabulary(hermes, Markers::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
    CHECK(grammars.make(**free).has_value()); // arguments are not constrained
    CHECK_FALSE(describe_answer({.syntax = hermes, .tools = {}})->has_value());
    CHECK_FALSE(describe_answer({.syntax = hermes, .tools = test::values_of(R"([{"type": "web_search"}])")})
                    ->has_value());
    for (const char* const name : {"two words", "a<b", ""}) {
        const std::string named = Json::array({{{"name", name}}}).dump();
        CAPTURE(named);
        const auto refused =
            describe_answer({.syntax = hermes, .tools = test::values_of(named), .required = ""});
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().kind == ErrorKind::unsupported);
    }
    const Syntax& kimi = *output::find_syntax("kimi_k2"); // it writes a colon after the name
    CHECK_FALSE(
        describe_answer({.syntax = kimi, .tools = test::values_of(R"([{"name": "a:b"}])"), .required = ""})
            .has_value());
}
