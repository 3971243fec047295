// Answers beside tools that need not be called, or whose arguments need not fit.

#include "core/base/json.hpp"
#include "core/generate/call_grammar.hpp"
#include "core/grammar/grammars.hpp"
#include "tests/generate/calls.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using namespace etna::test::calls;
using output::Ending;
using output::Start;
using output::Syntax;

namespace {

/// The tools, none of which is strict.
std::string loose_tools() {
    Json all = etna::parse_json(tools);
    for (Json& tool : all)
        tool["function"].erase("strict");
    return etna::dump_json(all);
}

} // namespace

TEST_CASE("calls are of offered functions where none is strict, with a JSON object, in every family") {
    const std::string loose = loose_tools();
    int with_calls = 0;
    int fitting = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Marks marks : {Marks::spelled, Marks::tokens}) {
            const Tokens tokens_of(syntax, marks);
            grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
            for (const bool are_strict : {false, true}) {
                const auto grammar = grammar_of(
                    {.syntax = syntax, .tools = loose, .are_strict = are_strict, .start = start_of(syntax)},
                    grammars);
                for (uint32_t round = 0; round < 30; ++round) {
                    const Walked walked = walk(grammar, tokens_of, round * 32452843 + 7);
                    const test::Fed fed =
                        test::feed(syntax, {.start = start_of(syntax), .tools = loose}, walked.text, {},
                                   walked.is_whole ? Ending::complete : Ending::cut_off);
                    CAPTURE(syntax.name, are_strict, walked.text, walked.is_whole,
                            test::to_string(fed.events));
                    REQUIRE((!walked.is_whole || fed.output.broken.empty()));
                    for (const output::Call& call : fed.output.calls) {
                        REQUIRE(schemas().contains(call.name));
                        REQUIRE(etna::parse_json(call.arguments).is_object());
                    }
                    if (are_strict)
                        check_calls(fed.output.calls);
                    (are_strict ? fitting : with_calls) += fed.output.calls.empty() ? 0 : 1;
                }
            }
        }
    }
    CHECK(with_calls > 100);
    CHECK(fitting > 100);
}

TEST_CASE("a call of a function that was not offered fits nothing, whatever is strict, in every family") {
    const std::string loose = loose_tools();
    for (const Syntax& syntax : output::syntaxes()) {
        int whole = 0;
        for (const Marks marks : {Marks::spelled, Marks::tokens}) {
            const Tokens tokens_of(syntax, marks);
            grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
            AnswerForm form = {
                .syntax = syntax, .tools = loose, .are_parallel = false, .start = start_of(syntax)};
            const auto grammar = grammar_of(form, grammars);
            form.demanded = "get_weather";
            const auto demanded = grammar_of(form, grammars);
            for (uint32_t round = 0; round < 12; ++round) {
                const Walked walked = walk(demanded, tokens_of, round * 49979687 + 3);
                if (!walked.is_whole)
                    continue;
                ++whole;
                CAPTURE(syntax.name, walked.text);
                CHECK(fits(grammar, walked.text));
                CHECK_FALSE(fits(grammar, replaced(walked.text, "get_weather", "get_rearts_lobob")));
                CHECK_FALSE(fits(grammar, replaced(walked.text, "get_weather", "get_weather_")));
                CHECK_FALSE(fits(grammar, replaced(walked.text, "get_weather", "get")));
            }
        }
        CAPTURE(syntax.name);
        CHECK(whole > 0);
    }
}

TEST_CASE("content may be JSON where calls need no mark, unless it begins as a call does") {
    const std::string loose = loose_tools();
    for (const char* const name : {"llama_3", "generic"}) {
        const Syntax& syntax = *output::find_syntax(name);
        const Tokens tokens_of(syntax, Marks::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        const auto grammar = grammar_of({.syntax = syntax, .tools = loose}, grammars);
        CAPTURE(name);
        for (const std::string text :
             {R"({"city": "Oslo", "name": "x"})", R"( [{"a": 1}, {"name": 2}])", "{}", "[1]", "{names}",
              R"({"nam": 1})", R"({"names": 1})", "It is {\"name\": 1}."}) {
            CAPTURE(text);
            CHECK(fits(grammar, text));
            const test::Fed fed = test::feed(syntax, {.tools = loose}, text, {});
            CHECK(fed.output.content == text);
            CHECK(fed.output.calls.empty());
        }
        const bool has_brackets = std::string_view(name) == "generic";
        CHECK_FALSE(fits(grammar, R"({"name": "Bob", "age": 3})"));
        CHECK_FALSE(fits(grammar, "\n{ \"arguments\": {}, \"name\": \"edit\"}"));
        CHECK(fits(grammar, R"([{"name": "Bob"}])") != has_brackets);
    }
}

TEST_CASE("arguments that need not fit may be any JSON object, in all ways to write one") {
    const std::string loose = loose_tools();
    const Syntax& hermes = *output::find_syntax("hermes");
    const Tokens tokens_of(hermes, Marks::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
    const auto grammar = grammar_of({.syntax = hermes, .tools = loose}, grammars);
    const auto call = [](const std::string& arguments) {
        return "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + arguments + "}\n</tool_call>";
    };
    for (const std::string arguments :
         {R"({})", R"({"city": "caf\u00e9 \ud83d\ude00 \/ \" \n é"})",
          "{ \"a\" :\r\n[1,-2.5e+3 , 0.5,true,null]}", R"({"a": {"b": [[], {}]}, "c": "</tool_call>"})"}) {
        CAPTURE(arguments);
        CHECK(fits(grammar, call(arguments)));
        const test::Fed fed = test::feed(hermes, {.tools = loose}, call(arguments), {});
        REQUIRE(fed.output.calls.size() == 1);
        CHECK(etna::parse_json(fed.output.calls[0].arguments) == etna::parse_json(arguments));
    }
    for (const std::string arguments :
         {"[]", "1", "{\"a\": }", "{\"a\": 1e400}", R"({"a": "\ud83d"})", "{\"a\": 01}"}) {
        CAPTURE(arguments);
        CHECK_FALSE(fits(grammar, call(arguments)));
    }
}

TEST_CASE("a model that is not known to reason may do so before its answer") {
    const std::string loose = loose_tools();
    int thoughts = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        if (!syntax.messages.open.empty())
            continue;
        const Tokens tokens_of(syntax, Marks::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        const auto grammar = grammar_of({.syntax = syntax, .tools = loose}, grammars);
        for (const auto& marks : syntax.reasoning) {
            if (marks.expected)
                continue;
            ++thoughts;
            const std::string open = trimmed(marks.open) + "So, <b> {\"name\": 1}.";
            const std::string closed = open + trimmed(marks.close) + "\n\nIt is.";
            CAPTURE(syntax.name, closed);
            CHECK(fits(grammar, open)); // as far as a model may get that ends too early
            CHECK(fits(grammar, closed));
            const test::Fed fed = test::feed(syntax, {.tools = loose}, closed, {});
            CHECK(fed.output.content == "It is.");
            CHECK(fed.output.reasoning == "So, <b> {\"name\": 1}.");
        }
    }
    CHECK(thoughts > 50);
}

TEST_CASE("programs may be written to a function that takes them, and to no other") {
    const std::string python = R"([{"name": "python"}, {"name": "f"}])";
    const std::string strict = R"([{"name": "python", "strict": true}, {"name": "f"}])";
    const auto allowed = [](const char* name, const std::string& offered, const std::string& text) {
        const Syntax& syntax = *output::find_syntax(name);
        const Tokens tokens_of(syntax, Marks::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(tokens_of.bytes, tokens_of.control));
        const auto grammar =
            grammar_of({.syntax = syntax, .tools = offered, .start = start_of(syntax)}, grammars);
        const test::Fed fed = test::feed(syntax, {.start = start_of(syntax), .tools = offered}, text, {});
        const bool is_call = fed.output.calls.size() == 1 && fed.output.calls[0].name == "python" &&
                             etna::parse_json(fed.output.calls[0].arguments)["code"] == "print(1)\nprint(2)";
        CHECK(is_call);
        return fits(grammar, text);
    };
    const std::string program = "print(1)\nprint(2)";
    for (const char* const name : {"llama_3", "function_tag"}) {
        CHECK(allowed(name, python, "<|python_tag|>" + program));
        CHECK_FALSE(allowed(name, strict, "<|python_tag|>" + program));
    }
    CHECK(allowed("functionary_v3_2", python, "python\n" + program));
    CHECK_FALSE(allowed("functionary_v3_2", strict, "python\n" + program));
    const std::string header = "<|channel|>commentary to=functions.python<|message|>";
    CHECK(allowed("harmony", python, header + program));
    CHECK_FALSE(allowed("harmony", strict, header + program));
}
