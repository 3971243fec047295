// Bounds, tools and values of the output parser; sample outputs of the families are in cases_test.cpp.

#include "core/output/json_scanner.hpp"
#include "core/output/markers.hpp"
#include "core/output/notation.hpp"
#include "core/output/parser.hpp"
#include "core/output/tools.hpp"
#include "tests/output/feeding.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <ctime>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::output;
using nlohmann::json;

namespace {

const std::vector<jinja::Value> one_tool =
    test::values_of(R"([{"type": "function", "function": {"name": "f", "parameters": {}}}])");

std::string repeated(std::string_view text, std::size_t bytes) {
    std::string result;
    while (result.size() < bytes)
        result += text;
    return result;
}

} // namespace

TEST_CASE("time is linear in texts that resemble markers", "[output]") {
    constexpr std::size_t small = 1 << 17;
    constexpr std::size_t large = 1 << 20;
    const auto seconds = [](const Syntax& syntax, std::string_view unit, std::string_view before,
                            std::size_t bytes) {
        const std::string text = std::string(before) + repeated(unit, bytes);
        const std::clock_t begin = std::clock(); // processor time, independent of the load of the machine
        auto parser = Parser::create(syntax, {.tools = one_tool});
        for (std::size_t at = 0; at < text.size(); at += 5)
            (void)parser->push(std::string_view(text).substr(at, 5));
        (void)parser->finish(Ending::complete);
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    struct Load {
        const char* family;
        const char* unit;
        const char* before;
    };
    constexpr Load loads[] = {{"hermes", "<", ""},
                              {"hermes", "<tool_cal", ""},
                              {"llama_3", "{", ""},
                              {"hermes", " \n", ""},
                              {"hermes", "{", "<tool_call>"},
                              {"hermes", "<tool_cal", "<think>"},
                              {"generic", "[", ""},
                              {"functionary_v3_2", ">>>", ""},
                              {"harmony", "<|start|>", ""},
                              {"lfm2", "(", "<|tool_call_start|>[f(a="},
                              {"gemma_4", "<|\"", "<|tool_call>call:f{a:<|\"|>"},
                              {"qwen3_coder", "\n", "<tool_call><function=f><parameter=s>"},
                              {"llama_3", "x.call", "<|python_tag|>"},
                              {"hermes", "\\n", "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \""},
                              {"hermes", "<tool_call>", ""},
                              {"llama_3", "{\"name\": \"f\", \"parameters\": {\"a\":", ""}};
    for (const auto& load : loads) {
        const Syntax& syntax = *find_syntax(load.family);
        const double few = seconds(syntax, load.unit, load.before, small);
        const double many = seconds(syntax, load.unit, load.before, large);
        INFO(load.family << ": " << load.before << load.unit << "...: " << few << " s, then " << many
                         << " s");
        CHECK(many < 0.05 + few * 32); // 8 times the text; quadratic time is 64 times
    }
}

TEST_CASE("the events of any text are well-formed in every family", "[output]") {
    const std::string_view texts[] = {
        "<tool_call>{\"name\": \"f\", \"arguments\": {\"s\": \"\xC3",
        "\xFF\xFE<tool_call>\xE2\x82{\"name\"",
        "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
        "[TOOL_CALLS][TOOL_CALLS]f[ARGS]{}[ARGS]",
        "<|channel|><|message|><|start|><|end|><|channel|>final<|message|>",
        ">>>f\n>>>all\n>>>f\n{}",
        "{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"f\"",
        "```tool_code\nprint(f(a=[1,2)))\n```",
        "<think></think></think><think>",
    };
    for (std::size_t family = 0; family < syntaxes().size(); ++family) {
        for (const auto text : texts) {
            const auto failure =
                test::broken_property(std::string{static_cast<char>(family)} + std::string(text));
            INFO(syntaxes()[family].name << ": " << text << "\n" << failure.value_or(""));
            CHECK_FALSE(failure);
        }
    }
}

TEST_CASE("a stray closing tag of calls is hidden only on a line of its own, if tools are offered",
          "[output]") {
    std::size_t tags = 0;
    for (const auto& syntax : syntaxes()) {
        for (const auto& section : syntax.sections) {
            const std::string close(trim(section.close));
            if (close.size() < 2 || close.back() != '>' || section.origin == Origin::foreign)
                continue;
            ++tags;
            const std::string text = "It is sunny.\n" + close + "\nBye.";
            INFO(syntax.name << ": " << text);
            const auto offered =
                test::feed(syntax, {.tools = one_tool}, text, test::every_byte(text)).output.content;
            CHECK(offered.find(close) == std::string::npos);
            CHECK(offered.starts_with("It is sunny."));
            CHECK(offered.ends_with("Bye."));
            const std::string prose = "Write " + close + " last.";
            const auto mentioned =
                test::feed(syntax, {.tools = one_tool}, prose, test::every_byte(prose)).output.content;
            CHECK((mentioned == prose) == close.starts_with("</"));
            const auto plain = test::feed(syntax, {}, text, test::every_byte(text)).output.content;
            const bool is_always_hidden =
                std::find(syntax.hidden.begin(), syntax.hidden.end(), close) != syntax.hidden.end();
            CHECK((plain == text) != is_always_hidden);
        }
    }
    CHECK(tags > 15);
}

TEST_CASE("a copy of a parser continues where the parser was", "[output]") {
    const std::string text =
        "<think>so</think>Well,\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1]}}\n"
        "</tool_call> done";
    for (const Syntax& syntax : syntaxes()) {
        const Output whole = test::feed(syntax, {.tools = one_tool}, text, {}).output;
        for (std::size_t cut = 0; cut <= text.size(); cut += 3) {
            auto parser = Parser::create(syntax, {.tools = one_tool});
            Collector copied;
            copied.add(parser->push(std::string_view(text).substr(0, cut)));
            Parser copy = *parser;
            (void)parser->push("!<tool_call>{"); // the original takes another way
            (void)parser->finish(Ending::cut_off);
            copied.add(copy.push(std::string_view(text).substr(cut)));
            copied.add(copy.finish(Ending::complete));
            CAPTURE(cut);
            CHECK(copied.output() == whole);
        }
    }
}

TEST_CASE("bytes that are not UTF-8 become U+FFFD", "[output]") {
    const auto fed =
        test::feed(*find_syntax("hermes"), {}, "a\xFF z\xE2\x82", test::every_byte("a\xFF z\xE2\x82"));
    CHECK(fed.output.content == "a\xEF\xBF\xBD z\xEF\xBF\xBD");
}

TEST_CASE("the request's tools are parsed with the types of their parameters", "[output]") {
    CHECK(Tools::create({})->empty());
    const auto tools = Tools::create(test::values_of(R"([{"name": "g", "parameters": {"properties": {
        "a": {"type": ["integer", "null"]}, "b": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "c": {"enum": ["x", 1]}, "d": {}}}}, {"type": "web_search"}])"));
    REQUIRE(tools);
    CHECK(tools->offers("g"));
    CHECK_FALSE(tools->offers("web_search"));
    CHECK(tools->types_of("g", "a") == (integer_type | null_type));
    CHECK(tools->types_of("g", "b") == (string_type | object_type));
    CHECK(tools->types_of("g", "c") == (string_type | integer_type));
    CHECK(tools->types_of("g", "d") == no_type);
    CHECK(tools->types_of("h", "a") == no_type);
    for (const char* bad : {"[1]", "[{}]", R"([{"type": "function"}])"}) {
        const auto offered = test::values_of(bad);
        const auto parser = Parser::create(*find_syntax("hermes"), {.tools = offered});
        INFO(bad);
        REQUIRE_FALSE(parser);
        CHECK(parser.error().kind == ErrorKind::invalid_argument);
    }
}

TEST_CASE("tagged values are converted to the type of their parameter", "[output]") {
    struct Row {
        const char* text;
        uint8_t types;
        const char* json;
    };
    constexpr Row rows[] = {
        {"12", no_type, "12"},
        {"12", string_type, R"("12")"},
        {"12", integer_type, "12"},
        {"1.5", integer_type, R"("1.5")"},
        {"2.0", integer_type, "2.0"},
        {"12", number_type, "12"},
        {"True", boolean_type, "true"},
        {"true", no_type, "true"},
        {"None", null_type, "null"},
        {"abc", no_type, R"("abc")"},
        {"abc", number_type, R"("abc")"},
        {" 7 ", integer_type, "7"},
        {"007", no_type, R"("007")"},
        {"[1]", string_type, R"("[1]")"},
        {"[1]", array_type, "[1]"},
        {"[1]", no_type, "[1]"},
        {"{'a': (1, None)}", object_type, R"({"a": [1, null]})"},
        {"", no_type, R"("")"},
        {R"("x")", no_type, R"("\"x\"")"},
        {"a\n\"b\"", string_type, R"("a\n\"b\"")"},
        {"null", string_type | null_type, "null"},
        {"5", string_type | integer_type, "5"},
        {"1e400", number_type, R"("1e400")"},
    };
    for (const auto& row : rows) {
        INFO(row.text << " " << int{row.types});
        CHECK(value_to_json(row.text, row.types) == row.json);
    }
}

TEST_CASE("Python and Gemma literals are converted to JSON", "[output]") {
    CHECK(keywords_to_json("").value_or("") == "{}");
    CHECK(keywords_to_json(R"(a=1, b='x', c=[True, None,], d={'k': (1,)},)").value_or("") ==
          R"({"a": 1, "b": "x", "c": [true, null], "d": {"k": [1]}})");
    CHECK(literal_to_json(R"('\x41\u00e9\U0001F600\ud83d\ude00\'\q')").value_or("") == R"("Aé😀😀'\\q")");
    CHECK(literal_to_json("'''a\nb'''").value_or("") == R"("a\nb")");
    CHECK(literal_to_json("+1_000.").value_or("") == "1000.0");
    CHECK(literal_to_json("-.5e-3").value_or("") == "-0.5e-3");
    for (const char* bad :
         {"", "x", "f(1)", "[1", "{1}", "'a", "1 2", "--1", "{'a': }", "[,]", "'\\u12'", "01"}) {
        INFO(bad);
        CHECK_FALSE(literal_to_json(bad));
    }
    for (const char* bad : {"1", "a", "a=", "a=1 b=2", "=1", "a=1,,b=2"}) {
        INFO(bad);
        CHECK_FALSE(keywords_to_json(bad));
    }
    CHECK(dictionary_to_json("{a:<q>x,y<q>,b:{c d:[<q><q>,1]}}", "<q>").value_or("") ==
          R"({"a": "x,y", "b": {"c d": ["", 1]}})");
    CHECK(dictionary_to_json("{a:x y,b:\"p,}\",c:[true,z]}", "<q>").value_or("") ==
          R"({"a": "x y", "b": "p,}", "c": [true, "z"]})");
    CHECK_FALSE(dictionary_to_json("{a:}", "<q>"));
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    CHECK_FALSE(literal_to_json(deep));
}

TEST_CASE("the scanner agrees with nlohmann::json", "[output]") {
    const char* documents[] = {"{}",
                               "{ }",
                               "[]",
                               "{\"a\":1}",
                               "{\"a\":1,}",
                               "{,}",
                               "{\"a\"}",
                               "{\"a\":}",
                               "{1:2}",
                               "{\"a\":-0}",
                               "{\"a\":01}",
                               "{\"a\":1.}",
                               "{\"a\":.5}",
                               "{\"a\":1e}",
                               "{\"a\":1e+}",
                               "{\"a\":1E-2}",
                               "{\"a\":1.5e3}",
                               "{\"a\":-}",
                               "{\"a\":tru}",
                               "{\"a\":true}",
                               "{\"a\":truex}",
                               "{\"a\":null,\"b\":false}",
                               "{\"a\":[1,[2,{\"b\":[]}]]}",
                               "{\"a\":[1,]}",
                               "{\"a\":[}",
                               "{\"a\":\"\\u00e9\"}",
                               "{\"a\":\"\\u00g9\"}",
                               "{\"a\":\"\\ud83d\\ude00\"}",
                               "{\"a\":\"\\ud83d\"}",
                               "{\"a\":\"\\ude00\"}",
                               "{\"a\":\"\\ud83d\\n\"}",
                               "{\"a\":\"\\x\"}",
                               "{\"a\":\"x\ny\"}",
                               "{\"a\":1}}",
                               "{\"a\":1} x",
                               " {\"a\" : 1 } \n",
                               "{\"a\":1",
                               "{\"\\u0061\":\"\\\\\\\"\\/\"}",
                               "{\"a\":1 2}",
                               "{\"a\":\"b\"\"c\"}",
                               "{'a':1}",
                               "\"a\"",
                               "1",
                               "",
                               "{\"a\":-1.0e-10}",
                               "{\"a\":0.0}",
                               "{\"a\":00}",
                               "{\"a\":1.5.5}",
                               "{\"a\":1e5e5}",
                               "{\"a\":+1}"};
    for (const char* document : documents) {
        const json parsed = json::parse(document, nullptr, false);
        INFO(document);
        CHECK(is_json_object(document) == parsed.is_object());
    }
    CHECK(is_json_object("{\"a\":" + std::string(255, '[') + std::string(255, ']') + "}"));
    CHECK_FALSE(is_json_object("{\"a\":" + std::string(256, '[') + std::string(256, ']') + "}")); // the bound
}

TEST_CASE("exactly the numbers that are finite doubles are accepted", "[output]") {
    const auto is_read = [](const std::string& number) {
        return is_json_object(fmt::format(R"({{"a":{}}})", number));
    };
    const std::string nines(40, '9');
    for (const std::string& number :
         {std::string(308, '9'), "-" + std::string(308, '9'), "1" + std::string(308, '0'), nines + "e99",
          nines + "." + nines + "E+99", "0." + nines + "e-99", "0." + std::string(440, '0') + "1"}) {
        CAPTURE(number);
        CHECK(is_read(number));
    }
    for (const std::string& number : {std::string(309, '9'), "-" + std::string(309, '9'),
                                      std::string("1e309"), std::string("9e99999999999")}) {
        CAPTURE(number);
        CHECK_FALSE(is_read(number));
    }
}

TEST_CASE("markers in structured content are plain text", "[output]") {
    const Syntax& hermes = *find_syntax("hermes");
    for (const std::string text :
         {R"({"a": "x<think>y</think> z <tool_call>{}</tool_call>"})", R"("</think>")", "a <think> b"}) {
        const auto fed = test::feed(hermes, {.tools = {}, .is_structured = true}, text, {}, Ending::complete);
        CHECK(fed.output.content == text);
        CHECK(fed.output.reasoning.empty());
        const auto thought = test::feed(hermes, {.tools = {}, .is_structured = true},
                                        "<think>so</think>\n\n" + text, {}, Ending::complete);
        CHECK(thought.output.content == text);
        CHECK(thought.output.reasoning == "so");
    }
}

TEST_CASE("white space at the end of content is delivered unless a marker follows", "[output]") {
    constexpr std::string_view spaces[] = {" ", "\n\n", "  \r\n\t"};
    for (const Syntax& syntax : syntaxes()) {
        for (const std::string_view space : spaces) {
            const std::string text = "It is sunny." + std::string(space);
            CAPTURE(syntax.name, text);
            for (const auto& tools : {std::vector<jinja::Value>(), one_tool}) {
                for (const Ending ending : {Ending::complete, Ending::cut_off}) {
                    const auto fed =
                        test::feed(syntax, {.tools = tools}, text, test::every_byte(text), ending);
                    CHECK(fed.output.content == text);
                }
            }
            for (const std::string_view close : syntax.messages.close) { // a message's own, too
                const std::string message = text + std::string(close);
                CHECK(test::feed(syntax, {}, message, test::every_byte(message)).output.content == text);
            }
            for (const Section& section : syntax.sections) {
                const bool is_block = section.origin == Origin::foreign && !section.open.empty() &&
                                      section.open.front().starts_with("```"); // on a line of its own only
                if (section.open.empty() || is_block)
                    continue;
                const std::string cut = text + std::string(section.open.front());
                const auto fed = test::feed(syntax, {.tools = one_tool}, cut, {}, Ending::cut_off);
                CHECK(fed.output.content == "It is sunny.");
            }
        }
    }
    const Syntax& harmony = *find_syntax("harmony");
    const std::string called = "<|channel|>commentary<|message|>Wait. \n<|end|><|start|>assistant<|channel|>"
                               "commentary to=functions.f<|message|>{}";
    const auto fed = test::feed(harmony, {.start = Start::header, .tools = one_tool}, called, {});
    CHECK(fed.output.content == "Wait.");
    CHECK(fed.output.calls.size() == 1);
}

TEST_CASE("tags around an answer are content if the prompt mentions them", "[output]") {
    const std::string text = "<think>So.</think>\n\n<answer>42</answer>";
    const Syntax& generic = *find_syntax("generic");
    CHECK(test::feed(generic, {}, text, test::every_byte(text)).output.content == "42");
    const auto asked = test::feed(generic, {.mentions_answer_markers = true}, text, test::every_byte(text));
    CHECK(asked.output.content == "<answer>42</answer>");
    CHECK(asked.output.reasoning == "So.");
}
