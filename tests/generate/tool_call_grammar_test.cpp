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

namespace {

/// The grammar of an answer whose reasoning the prompt has opened.
std::shared_ptr<const grammar::Grammar> grammar_in_reasoning(const AnswerForm& form,
                                                             grammar::GrammarCache& grammars) {
    auto description = describe_answer(form);
    REQUIRE(description.has_value());
    (*description)->reasoning = reasoning_in(form.syntax, {}, /*is_open=*/true);
    REQUIRE(end_open_reasoning(form, **description));
    auto made = grammars.make(**description);
    INFO((made ? "" : made.error().message));
    REQUIRE(made.has_value());
    return *made;
}

} // namespace

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
                const test::Fed fed = test::feed(
                    syntax, {.tools = offered, .is_structured = true, .has_strict_calls = true}, text, {});
                CAPTURE(syntax.name, offered.size(), text, test::to_string(fed.events));
                if (is_allowed)
                    REQUIRE(fed.output.content == text);
            }
        }
    }
    CHECK(allowed > 100);
    CHECK(refused > 50);
}

TEST_CASE("a required call follows open reasoning or ends it, in every family") {
    for (const Syntax& syntax : output::syntaxes()) {
        if (syntax.reasoning.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const auto grammar =
            grammar_in_reasoning({.syntax = syntax, .tools = tools, .required = ""}, grammars);
        int with_calls = 0;
        for (uint32_t round = 0; round < 12; ++round) {
            const Sample sample = sample_answer(grammar, vocabulary, round * 31 + 3);
            const test::Fed fed =
                test::feed(syntax, {.start = Start::reasoning, .tools = tools, .has_strict_calls = true},
                           sample.text, {}, sample.is_complete ? Ending::complete : Ending::cut_off);
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

TEST_CASE("open reasoning may end with the turn if tools are offered, strict or not, in every family") {
    for (const Syntax& syntax : output::syntaxes()) {
        if (syntax.reasoning.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        for (const bool is_strict : {false, true}) {
            const auto offered = is_strict ? tools : lenient_tools();
            const auto free = grammar_in_reasoning({.syntax = syntax, .tools = offered}, grammars);
            const auto required =
                grammar_in_reasoning({.syntax = syntax, .tools = offered, .required = ""}, grammars);
            CAPTURE(syntax.name, is_strict);
            CHECK(fits(free, ""));
            CHECK(fits(free, "I wonder."));
            CHECK_FALSE(fits(required, "I wonder."));
        }
    }
}

TEST_CASE("reasoning may mention the marker of a call, and a valid call ends it, in every family") {
    int marked = 0;
    for (const Syntax& syntax : output::syntaxes()) {
        if (syntax.reasoning.empty())
            continue;
        const Tokens vocabulary(syntax, Markers::spelled);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        for (const bool is_strict : {false, true}) {
            const auto offered = is_strict ? tools : lenient_tools();
            const auto free = grammar_in_reasoning({.syntax = syntax, .tools = offered}, grammars);
            const output::ParserOptions options = {
                .start = Start::reasoning, .tools = offered, .has_strict_calls = is_strict};
            for (const auto& section : syntax.sections) {
                if (section.open.empty() || section.origin == output::Origin::foreign)
                    continue;
                const std::string marker = trimmed(section.open.front());
                for (const std::string& text :
                     {"I write `" + marker + "` then.", "So " + marker + " it is"}) {
                    CAPTURE(syntax.name, is_strict, text);
                    CHECK(fits(free, text));
                    const test::Fed fed = test::feed(syntax, options, text, test::every_byte(text));
                    CHECK(fed.output.reasoning == text);
                    CHECK(fed.output.calls.empty());
                    CHECK(fed.output.broken.empty());
                    ++marked;
                }
            }
            const auto demanded = grammar_of(
                {.syntax = syntax, .tools = offered, .required = "get_weather", .allows_parallel = false},
                grammars);
            for (uint32_t round = 0; round < 8; ++round) {
                const Sample sample = sample_answer(demanded, vocabulary, round * 6007 + 1);
                const std::string call = sample.text.substr(sample.text.find_first_not_of(" \n\r\t"));
                const bool is_marked =
                    std::any_of(syntax.sections.begin(), syntax.sections.end(), [&call](const auto& section) {
                        return !section.open.empty() && call.starts_with(trimmed(section.open.front()));
                    });
                if (!sample.is_complete || !is_marked)
                    continue;
                const std::string text = "Hm.\n" + sample.text;
                CAPTURE(syntax.name, is_strict, text);
                CHECK(fits(free, text));
                const test::Fed fed = test::feed(syntax, options, text, {});
                CHECK(fed.output.reasoning == "Hm.");
                REQUIRE(fed.output.calls.size() == 1);
                CHECK(fed.output.calls[0].name == "get_weather");
            }
        }
    }
    CHECK(marked > 60);
}

TEST_CASE("in open reasoning, a call with arguments of another form is rejected if they must match") {
    for (const char* const name : {"hermes", "qwen3_coder", "glm", "kimi_k2", "mistral_named"}) {
        const Syntax& syntax = *output::find_syntax(name);
        const Tokens vocabulary(syntax, Markers::tokens);
        grammar::GrammarCache grammars(grammar::Vocabulary(vocabulary.bytes, vocabulary.control));
        const auto free = grammar_in_reasoning({.syntax = syntax, .tools = tools}, grammars);
        const auto demanded =
            grammar_of({.syntax = syntax, .tools = tools, .required = "get_weather"}, grammars);
        Sample sample;
        for (uint32_t seed = 1; !sample.is_complete && seed < 50; ++seed)
            sample = sample_answer(demanded, vocabulary, seed);
        CAPTURE(name, sample.text);
        REQUIRE(sample.is_complete);
        CHECK(fits(free, "Hm." + sample.text));
        CHECK_FALSE(
            fits(free, "Hm." + replaced(replaced(sample.text, "celsius", "kelvin"), "fahrenheit", "kelvin")));
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
            // Some models indent their calls.
            const AnswerForm form = {.syntax = syntax,
                                     .tools = strict_tools,
                                     .spacing = grammar::JsonSpacing::any,
                                     .start =
                                         one.value("start", "") == "header" ? Start::header : Start::content};
            auto description = describe_answer(form);
            REQUIRE(description.has_value());
            if (one.contains("reasoning") && syntax.messages.open.empty()) {
                (*description)->reasoning =
                    reasoning_in(syntax, output, one.value("start", "") == "reasoning");
                REQUIRE(end_open_reasoning(form, **description));
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
