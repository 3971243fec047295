// Grammars of answers whose tools are optional or not strict.

#include "core/base/json.hpp"
#include "core/generate/answer_grammar.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "tests/generate/calls.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using namespace etna::test::calls;
using output::Ending;
using output::Start;
using output::Syntax;

TEST_CASE("without strict functions, calls name offered functions and have a JSON object, in every family") {
    const auto lenient = lenient_tools();
    int with_calls = 0;
    int fitting = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        for (const Markers markers : {Markers::spelled, Markers::tokens}) {
            const Tokens vocabulary(syntax, markers);
            grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
            for (const bool are_strict : {false, true}) {
                const auto grammar = grammar_of(
                    {.syntax = syntax, .tools = lenient, .is_strict = are_strict, .start = start_of(syntax)},
                    grammars);
                for (uint32_t round = 0; round < 30; ++round) {
                    const Sample sample = sample_answer(grammar, vocabulary, round * 32452843 + 7);
                    const test::Fed fed = test::feed(
                        syntax, {.start = start_of(syntax), .tools = lenient, .has_strict_calls = are_strict},
                        sample.text, {}, sample.is_complete ? Ending::complete : Ending::cut_off);
                    CAPTURE(syntax.name, are_strict, sample.text, sample.is_complete,
                            test::to_string(fed.events));
                    REQUIRE((!sample.is_complete || fed.output.broken.empty()));
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

TEST_CASE("a call of a function that is not offered is rejected, strict or not, in every family") {
    const auto lenient = lenient_tools();
    for (const Syntax& syntax : output::syntaxes()) {
        int complete = 0;
        for (const Markers markers : {Markers::spelled, Markers::tokens}) {
            const Tokens vocabulary(syntax, markers);
            grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
            AnswerForm form = {
                .syntax = syntax, .tools = lenient, .allows_parallel = false, .start = start_of(syntax)};
            const auto grammar = grammar_of(form, grammars);
            form.required = "get_weather";
            const auto demanded = grammar_of(form, grammars);
            for (uint32_t round = 0; round < 12; ++round) {
                const Sample sample = sample_answer(demanded, vocabulary, round * 49979687 + 3);
                if (!sample.is_complete)
                    continue;
                ++complete;
                CAPTURE(syntax.name, sample.text);
                CHECK(fits(grammar, sample.text));
                for (const std::string_view name : {"get_rearts_lobob", "get_weather_", "get"}) {
                    const std::string other = replaced(sample.text, "get_weather", name);
                    if (syntax.name == "glm_4") { // no marker precedes the name: the text is content
                        CHECK(test::feed(syntax, {.tools = lenient}, other, {}).output.content == other);
                    } else {
                        CHECK_FALSE(fits(grammar, other));
                    }
                }
            }
        }
        CAPTURE(syntax.name);
        CHECK(complete > 0);
    }
}

TEST_CASE("if calls need no marker, content may be JSON unless it starts like a call") {
    const auto lenient = lenient_tools();
    for (const char* const name : {"llama_3", "llama_4", "generic"}) {
        const Syntax& syntax = *output::find_syntax(name);
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const auto grammar = grammar_of({.syntax = syntax, .tools = lenient}, grammars);
        CAPTURE(name);
        for (const std::string text :
             {R"({"city": "Oslo", "name": "x"})", R"( [{"a": 1}, {"name": 2}])", "{}", "[1]", "{names}",
              R"({"nam": 1})", R"({"names": 1})", "It is {\"name\": 1}."}) {
            CAPTURE(text);
            CHECK(fits(grammar, text));
            const test::Fed fed = test::feed(syntax, {.tools = lenient}, text, {});
            CHECK(fed.output.content == text);
            CHECK(fed.output.calls.empty());
        }
        CHECK_FALSE(fits(grammar, R"({"name": "Bob", "age": 3})"));
        CHECK_FALSE(fits(grammar, "\n{ \"arguments\": {}, \"name\": \"edit\"}"));
        CHECK_FALSE(fits(grammar, R"([{"name": "Bob"}])"));
        const std::string member = std::string(syntax.members.arguments.front());
        CHECK(fits(grammar, R"([{"name": "now", ")" + member + R"(": {}}, {"name": "now", ")" + member +
                                R"(": {}}])"));
    }
}

TEST_CASE("arguments of a function that is not strict may be any JSON object, in any spelling") {
    const auto lenient = lenient_tools();
    const Syntax& hermes = *output::find_syntax("hermes");
    const Tokens vocabulary(hermes, Markers::spelled);
    grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
    const auto grammar = grammar_of({.syntax = hermes, .tools = lenient}, grammars);
    const auto call = [](const std::string& arguments) {
        return "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + arguments + "}\n</tool_call>";
    };
    for (const std::string arguments :
         {R"({})", R"({"city": "caf\u00e9 \ud83d\ude00 \/ \" \n é"})",
          "{ \"a\" :\r\n[1,-2.5e+3 , 0.5,true,null]}", R"({"a": {"b": [[], {}]}, "c": "</tool_call>"})"}) {
        CAPTURE(arguments);
        CHECK(fits(grammar, call(arguments)));
        const test::Fed fed = test::feed(hermes, {.tools = lenient}, call(arguments), {});
        REQUIRE(fed.output.calls.size() == 1);
        CHECK(etna::parse_json(fed.output.calls[0].arguments) == etna::parse_json(arguments));
    }
    for (const std::string arguments :
         {"[]", "1", "{\"a\": }", "{\"a\": 1e400}", R"({"a": "\ud83d"})", "{\"a\": 01}"}) {
        CAPTURE(arguments);
        CHECK_FALSE(fits(grammar, call(arguments)));
    }
}

TEST_CASE("a model that is not known to reason may reason before its answer") {
    const auto lenient = lenient_tools();
    int reasonings = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        if (!syntax.messages.open.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const auto grammar = grammar_of({.syntax = syntax, .tools = lenient}, grammars);
        for (const auto& pair : syntax.reasoning) {
            if (pair.expected)
                continue;
            ++reasonings;
            const std::string open = trimmed(pair.open) + "So, <b> {\"name\": 1}.";
            const std::string closed = open + trimmed(pair.close) + "\n\nIt is.";
            CAPTURE(syntax.name, closed);
            CHECK(fits(grammar, open)); // the answer may end inside the reasoning
            CHECK(fits(grammar, closed));
            const test::Fed fed = test::feed(syntax, {.tools = lenient}, closed, {});
            CHECK(fed.output.content == "It is.");
            CHECK(fed.output.reasoning == "So, <b> {\"name\": 1}.");
        }
    }
    CHECK(reasonings > 50);
}

TEST_CASE("only a function that takes programs may get one") {
    const auto python = test::values_of(R"([{"name": "python"}, {"name": "f"}])");
    const auto strict = test::values_of(R"([{"name": "python", "strict": true}, {"name": "f"}])");
    const auto allowed = [](const char* name, const std::vector<jinja::Value>& offered,
                            const std::string& text) {
        const Syntax& syntax = *output::find_syntax(name);
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
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
