// Answers that are kept to calls: for every family, what its grammar allows is what its parser reads, with
// names that were offered and arguments that fit.

#include "core/base/json.hpp"
#include "core/generate/call_grammar.hpp"
#include "core/grammar/grammars.hpp"
#include "tests/generate/calls.hpp"
#include "tests/generate/schema_check.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

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

TEST_CASE("demanded calls are read as calls of offered functions with arguments that fit, in every family") {
    constexpr uint32_t rounds = 6;
    int whole = 0;
    int cut = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Marks marks : {Marks::spelled, Marks::tokens}) {
            const Tokens tokens_of(syntax, marks);
            grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
            for (const std::string_view name : {"", "mixed", "search-docs_2", "get_weather", "edit", "now"}) {
                for (uint32_t round = 0; round < rounds; ++round) {
                    const auto grammar = grammar_of({.syntax = syntax,
                                                     .tools = tools,
                                                     .demanded = name,
                                                     .are_parallel = round % 2 == 0,
                                                     .start = start_of(syntax)},
                                                    grammars);
                    const Walked walked = walk(grammar, tokens_of, round * 7919 + 1);
                    const test::Fed fed = read(syntax, walked);
                    CAPTURE(syntax.name, name, walked.text, walked.is_whole, test::to_string(fed.events));
                    check_calls(fed.output.calls);
                    ++(walked.is_whole ? whole : cut);
                    if (!walked.is_whole)
                        continue;
                    REQUIRE(fed.output.broken.empty());
                    REQUIRE(fed.output.content.empty());
                    REQUIRE_FALSE(fed.output.calls.empty());
                    REQUIRE((round % 2 == 0 || fed.output.calls.size() == 1));
                    for (const auto& call : fed.output.calls)
                        REQUIRE((name.empty() || call.name == name));
                    if (name == "get_weather") {
                        REQUIRE(fits(grammar, walked.text));
                        REQUIRE_FALSE(fits(grammar, replaced(walked.text, "get_weather", "get_wether")));
                        REQUIRE_FALSE(fits(grammar, replaced(walked.text, "unit", "units")));
                        const std::string in_kelvin =
                            replaced(replaced(walked.text, "celsius", "kelvin"), "fahrenheit", "kelvin");
                        REQUIRE_FALSE(fits(grammar, in_kelvin));
                    }
                }
            }
        }
    }
    std::cout << "calls: " << whole << " whole answers read, " << cut << " cut off\n";
    CHECK(whole > cut);
}

TEST_CASE("content may come, or calls that fit, where functions are strict, in every family") {
    int with_calls = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Marks marks : {Marks::spelled, Marks::tokens}) {
            const Tokens tokens_of(syntax, marks);
            grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
            const auto grammar =
                grammar_of({.syntax = syntax, .tools = tools, .start = start_of(syntax)}, grammars);
            for (uint32_t round = 0; round < 30; ++round) {
                const Walked walked = walk(grammar, tokens_of, round * 104729 + 5);
                const test::Fed fed = read(syntax, walked);
                CAPTURE(syntax.name, walked.text, walked.is_whole, test::to_string(fed.events));
                check_calls(fed.output.calls);
                REQUIRE((!walked.is_whole || fed.output.broken.empty()));
                with_calls += fed.output.calls.empty() ? 0 : 1;
            }
        }
    }
    CHECK(with_calls > 100);
}

TEST_CASE("an answer is content that fits or calls that fit, in every family") {
    const Json schema = etna::parse_json(R"({"type": "object", "properties": {"s": {"type": "string"},
        "b": {"enum": ["<tool_call>", "x"]}}, "required": ["s", "b"], "additionalProperties": false})");
    int with_calls = 0;
    int with_content = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        const Tokens tokens_of(syntax, Marks::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        const auto grammar = grammar_of({.syntax = syntax,
                                         .tools = tools,
                                         .content = grammar::Description{.text = etna::dump_json(schema)},
                                         .start = start_of(syntax)},
                                        grammars);
        for (uint32_t round = 0; round < 30; ++round) {
            const Walked walked = walk(grammar, tokens_of, round * 15485863 + 11);
            const test::Fed fed = read(syntax, walked);
            CAPTURE(syntax.name, walked.text, test::to_string(fed.events));
            check_calls(fed.output.calls);
            if (!walked.is_whole)
                continue;
            REQUIRE(fed.output.broken.empty());
            REQUIRE((fed.output.calls.empty() != fed.output.content.empty()));
            if (fed.output.calls.empty())
                REQUIRE(test::misfit(schema, etna::parse_json(fed.output.content), schema).empty());
            ++(fed.output.calls.empty() ? with_content : with_calls);
        }
    }
    CHECK(with_calls > 50);
    CHECK(with_content > 50);
}

TEST_CASE("content that fits is told whole, whatever marks of the protocol its strings hold") {
    int held = 0;
    int refused = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        if (!syntax.messages.open.empty())
            continue;
        const Tokens tokens_of(syntax, Marks::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        for (const std::string_view offered : {std::string_view(tools), std::string_view()}) {
            const auto grammar =
                grammar_of({.syntax = syntax,
                            .tools = offered,
                            .content = grammar::Description{.text = R"({"type": "string"})"}},
                           grammars);
            for (const std::string_view mark : syntax.markers(output::Calls::expected)) {
                const std::string text = etna::dump_json(Json("a " + std::string(mark) + " b"));
                const bool is_held = fits(grammar, text);
                ++(is_held ? held : refused);
                const test::Fed fed = test::feed(syntax, {.tools = offered, .is_form = true}, text, {});
                CAPTURE(syntax.name, offered, text, test::to_string(fed.events));
                if (is_held)
                    REQUIRE(fed.output.content == text);
            }
        }
    }
    CHECK(held > 100);
    CHECK(refused > 50);
}

TEST_CASE("reasoning that has begun comes before calls, and some calls end it") {
    for (const Syntax& syntax : output::syntaxes()) {
        if (syntax.reasoning.empty())
            continue;
        const Tokens tokens_of(syntax, Marks::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        auto description = describe_answer({.syntax = syntax, .tools = tools, .demanded = ""});
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
            const Walked walked = walk(grammar, tokens_of, round * 31 + 3);
            const test::Fed fed = test::feed(syntax, {.start = Start::reasoning, .tools = tools}, walked.text,
                                             {}, walked.is_whole ? Ending::complete : Ending::cut_off);
            CAPTURE(syntax.name, walked.text, test::to_string(fed.events));
            check_calls(fed.output.calls);
            if (!walked.is_whole)
                continue;
            ++with_calls;
            REQUIRE(fed.output.broken.empty());
            REQUIRE_FALSE(fed.output.calls.empty());
        }
        CAPTURE(syntax.name);
        CHECK(with_calls > 0);
    }
}

TEST_CASE("calls as the families write them are allowed") {
    const std::filesystem::path folder = std::filesystem::path(ETNA_TEST_DATA) / "outputs";
    const auto read_file = [](const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    Json offered = etna::parse_json(read_file(folder / "tools.json"));
    for (Json& tool : offered)
        tool["function"]["strict"] = true;
    const std::string strict_tools = etna::dump_json(offered);
    for (const Syntax& syntax : output::syntaxes()) {
        const Tokens tokens_of(syntax, Marks::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
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

TEST_CASE("marks that end the answer are no part of it") {
    const Syntax& harmony = *output::find_syntax("harmony");
    const Tokens tokens_of(harmony, Marks::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
    const AnswerForm form = {
        .syntax = harmony,
        .tools = tools,
        .demanded = "now",
        .is_end = [](std::string_view name) { return name == "<|call|>" || name == "<|return|>"; },
        .start = Start::header};
    const auto grammar = grammar_of(form, grammars);
    const std::string call = "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}";
    CHECK(fits(grammar, call));
    CHECK(fits(grammar, "<|channel|>analysis<|message|>So.<|end|><|start|>assistant" + call));
    CHECK_FALSE(fits(grammar, call + "<|call|>"));
    CHECK_FALSE(fits(grammar, "<|channel|>final<|message|>No."));
}

TEST_CASE("what is free stays free, and what cannot be written is refused") {
    const Syntax& hermes = *output::find_syntax("hermes");
    const auto free = describe_answer(
        {.syntax = hermes, .tools = R"([{"name": "f", "parameters": {"uniqueItems": true}}])"});
    REQUIRE(free.has_value());
    const Tokens tokens_of(hermes, Marks::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
    CHECK(grammars.make(**free).has_value()); // no arguments have to fit
    CHECK_FALSE(describe_answer({.syntax = hermes, .tools = "[]"})->has_value());
    CHECK_FALSE(describe_answer({.syntax = hermes, .tools = R"([{"type": "web_search"}])"})->has_value());
    for (const char* const name : {"two words", "a<b", ""}) {
        const std::string named = etna::dump_json(Json::array({{{"name", name}}}));
        CAPTURE(named);
        const auto refused = describe_answer({.syntax = hermes, .tools = named, .demanded = ""});
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().kind == ErrorKind::unsupported);
    }
    const Syntax& kimi = *output::find_syntax("kimi_k2"); // it writes a colon behind the name
    CHECK_FALSE(
        describe_answer({.syntax = kimi, .tools = R"([{"name": "a:b"}])", .demanded = ""}).has_value());
}
