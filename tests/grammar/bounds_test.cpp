// Hostile schemas and grammars: an error within a second of processor time and 200 MB.

#include "core/grammar/description.hpp"
#include "core/grammar/gbnf.hpp"
#include "core/grammar/grammar_cache.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/grammar/cost.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

using Reader = Result<Expression> (*)(Language& language, std::string_view text);

constexpr int is_language = 50; ///< instead of an ErrorKind

/// Reads the text, and matches `walked` against it.
void check_bounds(Reader reader, const std::string& text, int expected, const std::string& walked = "") {
    INFO(text.substr(0, 120));
    const Cost cost = cost_of([&] {
        Language language;
        const auto read = reader(language, text);
        if (read)
            static_cast<void>(language.next(*read, walked));
        return read ? is_language : static_cast<int>(read.error().kind);
    });
    INFO(cost.seconds << " s, " << cost.kib << " KiB in all");
    CHECK(cost.exit_status == expected);
    if (is_measured)
        CHECK(cost.seconds < seconds_max);
}

Result<Expression> compiled_schema(Language& language, std::string_view text) {
    return json_schema(language, text, {});
}

/// Within a budget, as a server compiles grammars.
Result<Expression> described(Language& language, Notation notation, std::string_view text) {
    return texts_of(language, {.notation = notation, .text = std::string(text)}, Vocabulary({"a"}));
}
Result<Expression> schema_in_budget(Language& language, std::string_view text) {
    return described(language, Notation::json_schema, text);
}
Result<Expression> gbnf_in_budget(Language& language, std::string_view text) {
    return described(language, Notation::gbnf, text);
}
Result<Expression> regex_in_budget(Language& language, std::string_view text) {
    return described(language, Notation::regex, text);
}

std::string json_quoted(std::string_view text) {
    std::string all = "\"";
    for (const char byte : text)
        all += byte == '"' ? "\\\"" : byte == '\n' ? "\\n" : std::string(1, byte);
    return all + "\"";
}

/// A member that is constrained by a grammar, as JSON or between marks.
Result<Expression> member_of_grammar(Language& language, std::string_view grammar, const Writing& writing) {
    return json_schema(language,
                       R"({"properties": {"a": {"type": "string", "x-etna-lark": )" + json_quoted(grammar) +
                           R"(}}, "required": ["a"], "additionalProperties": false})",
                       {.writing = writing});
}

Result<Expression> lark_in_json(Language& language, std::string_view grammar) {
    return member_of_grammar(language, grammar, {});
}

Result<Expression> lark_between_marks(Language& language, std::string_view grammar) {
    return member_of_grammar(
        language, grammar,
        {.form = Form::tagged,
         .not_in_strings = {"</parameter>", "</function>", "<parameter="},
         .member = {{"<parameter=", TaggedSlot::name}, {">", TaggedSlot::value}, {"</parameter>"}},
         .read_as = {{"a", json_string}}});
}

std::string many(int count, const std::function<std::string(int)>& one) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += (i == 0 ? "" : ",") + one(i);
    return all;
}

std::string nested(std::string_view open, std::string_view core, std::string_view close, int depth) {
    std::string all;
    for (int i = 0; i < depth; ++i)
        all += open;
    all += core;
    for (int i = 0; i < depth; ++i)
        all += close;
    return all;
}

std::string repeated(std::string_view text, int count) {
    return nested(text, "", "", count);
}

constexpr int not_supported = static_cast<int>(ErrorKind::unsupported);
constexpr int invalid = static_cast<int>(ErrorKind::invalid_argument);

} // namespace

TEST_CASE("schemas with exponential cost are refused quickly", "[cost]") {
    check_bounds(compiled_schema,
                 R"({"allOf": [)" +
                     many(30,
                          [](int i) {
                              return fmt::format(
                                  R"({{"anyOf": [{{"required": ["a{}"]}}, {{"required": ["b{}"]}}]}})", i, i);
                          }) +
                     "]}",
                 not_supported);
    check_bounds(compiled_schema, R"({"pattern": "^(a|b)*a(a|b){30}$", "maxLength": 50})", not_supported);
    check_bounds(compiled_schema, R"({"pattern": "(((a{1,900}){1,900}){1,900}){1,900}", "maxLength": 5})",
                 not_supported);
    check_bounds(
        compiled_schema,
        R"({"type": "array", "contains": {"type": "null"}, "minContains": 100000, "maxContains": 900000})",
        not_supported);
    check_bounds(compiled_schema, std::string(100'000, '['), not_supported);
    check_bounds(compiled_schema, nested(R"({"not":)", "true", "}", 99), invalid);
    check_bounds(compiled_schema,
                 R"({"allOf": [)" +
                     many(40,
                          [](int i) {
                              return fmt::format(R"({{"pattern": "^.*{}.*$"}})",
                                                 static_cast<char>('a' + i % 26));
                          }) +
                     "]}",
                 not_supported);
    check_bounds(
        compiled_schema,
        R"({"oneOf": [)" +
            many(200,
                 [](int i) {
                     return fmt::format(
                         R"({{"required": ["a{}"], "properties": {{"a{}": {{"type": "integer"}}}}}})", i, i);
                 }) +
            "]}",
        not_supported);
    check_bounds(
        compiled_schema,
        R"({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}})",
        is_language); // a cycle is ignored
}

TEST_CASE("thousands of simultaneous choices are refused quickly", "[cost]") {
    for (const int count : {999, 4000, 8000, 30'000}) {
        check_bounds(compiled_schema,
                     R"({"allOf": [)" +
                         many(count, [](int) { return R"({"anyOf": [{}, {"type": "integer"}]})"; }) + "]}",
                     not_supported);
    }
    const auto either_length = [](int i) {
        return fmt::format(R"({{"anyOf": [{{}}, {{"maxLength": {}}}]}})", i + 5);
    };
    check_bounds(compiled_schema, R"({"allOf": [)" + many(3000, either_length) + "]}", not_supported);
    std::string definitions = R"("last": {"type": "null"})";
    for (int i = 0; i < 20'000; ++i) {
        definitions += fmt::format(R"(, "d{}": {{"anyOf": [{{"$ref": "#/$defs/{}"}}, {{"maxLength": {}}}]}})",
                                   i, i == 0 ? "last" : fmt::format("d{}", i - 1), i);
    }
    check_bounds(compiled_schema, R"({"$ref": "#/$defs/d19999", "$defs": {)" + definitions + "}}",
                 not_supported);
    check_bounds(compiled_schema,
                 R"({"allOf": [{"enum": [)" +
                     many(20'000, [](int i) { return fmt::format("\"value number {}\"", i); }) + "]}, " +
                     many(900, either_length) + "]}",
                 not_supported);
}

TEST_CASE("the size of excluded lists is bounded", "[cost]") {
    const std::string numbers = many(10'000, [](int i) { return std::to_string(i); });
    const std::string schemas = many(10'000, [](int i) { return fmt::format(R"({{"const": {}}})", i); });
    check_bounds(compiled_schema, R"({"not": {"const": [)" + numbers + "]}}", not_supported);
    check_bounds(compiled_schema, R"({"not": {"prefixItems": [)" + schemas + "]}}", not_supported);
    check_bounds(compiled_schema, R"({"oneOf": [)" + schemas + "]}", not_supported);
    check_bounds(compiled_schema, R"({"not": {"oneOf": [)" + schemas + "]}}", not_supported);
}

TEST_CASE("many schemas that exclude each other stay within the bounds", "[cost]") {
    const auto tagged = [](int i, std::string_view type) {
        return fmt::format(R"({{{}"properties": {{"a": {{"const": "tag {}"}}}}, "required": ["a"]}})", type,
                           i);
    };
    const auto of_any = [&](int i) { return tagged(i, ""); };
    const auto of_object = [&](int i) { return tagged(i, R"("type": "object", )"); };
    check_bounds(compiled_schema, R"({"oneOf": [)" + many(150, of_any) + "]}", is_language);
    for (const int count : {300, 1000, 5000})
        check_bounds(compiled_schema, R"({"oneOf": [)" + many(count, of_any) + "]}", not_supported);
    check_bounds(compiled_schema, R"({"oneOf": [)" + many(200, of_object) + "]}", is_language);
    for (const int count : {1000, 5000})
        check_bounds(compiled_schema, R"({"oneOf": [)" + many(count, of_object) + "]}", not_supported);
}

TEST_CASE("large realistic schemas compile within the same bounds", "[cost]") {
    check_bounds(compiled_schema,
                 R"({"type": "object", "properties": {)" +
                     many(1000,
                          [](int i) {
                              return fmt::format(R"("name{}": {{"type": "string", "maxLength": {}}})", i,
                                                 i + 1);
                          }) +
                     "}}",
                 is_language);
    check_bounds(compiled_schema,
                 R"({"enum": [)" + many(20'000, [](int i) { return fmt::format("\"value number {}\"", i); }) +
                     "]}",
                 is_language);
    check_bounds(compiled_schema, R"({"type": "string", "minLength": 5000, "maxLength": 100000})",
                 is_language);
    check_bounds(compiled_schema,
                 R"({"$defs": {"a": )" +
                     nested(R"({"properties": {"x": )", R"({"$ref": "#/$defs/a"})", "}}", 30) +
                     R"(}, "$ref": "#/$defs/a"})",
                 is_language);
}

TEST_CASE("many strings are joined or excluded within the same bounds", "[cost]") {
    std::mt19937 random(7);
    const auto letters = [&](int count) {
        std::string text(static_cast<std::size_t>(count), ' ');
        for (char& letter : text)
            letter = static_cast<char>('a' + random() % 20);
        return text;
    };
    const auto numbered = [](std::string_view name) {
        return [name](int i) { return fmt::format("\"{} {}\"", name, i); };
    };
    const auto random_text = [&](int) { return "\"" + letters(8) + "\""; };
    check_bounds(schema_in_budget, R"({"enum": [)" + many(50'000, numbered("value")) + "]}", is_language);
    check_bounds(schema_in_budget, R"({"enum": [)" + many(50'000, random_text) + "]}", is_language);
    check_bounds(schema_in_budget,
                 R"({"allOf": [{"enum": [)" + many(20'000, numbered("v")) + R"(]}, {"not": {"enum": [)" +
                     many(20'000, numbered("w")) + "]}}]}",
                 is_language);
    const auto long_text = [&](int) { return "\"" + letters(250) + "\""; };
    check_bounds(compiled_schema, R"({"not": {"enum": [)" + many(5000, long_text) + "]}}", not_supported);
    check_bounds(schema_in_budget, R"({"not": {"enum": [)" + many(50, long_text) + "]}}", is_language);
    check_bounds(schema_in_budget, R"({"required": [)" + many(50'000, numbered("name")) + "]}",
                 not_supported);
}

TEST_CASE("slow patterns are refused within the same bounds", "[cost]") {
    for (const int length : {200, 1000, 1500}) {
        check_bounds(
            schema_in_budget,
            fmt::format(R"({{"pattern": "^(a|aa|aaa|b){{1,2000}}c$", "minLength": 3, "maxLength": {}}})",
                        length),
            not_supported);
    }
    constexpr int many_times = 250'000;
    for (const std::string_view item : {"abc", "a?", "(a|)", ".", "[^a]", "[b-y]", "x|yz"}) {
        INFO(item);
        const std::string pattern = repeated(item, many_times);
        const bool is_short = item != "abc" && item != "(a|)";
        check_bounds(regex_in_budget, pattern, is_short ? is_language : not_supported);
        check_bounds(schema_in_budget, R"({"maxLength": 9, "pattern": ")" + pattern + "\"}",
                     item == "x|yz" ? is_language : not_supported);
    }
}

TEST_CASE("patterns that exclude each other are refused within the same bounds", "[cost]") {
    for (const int count : {150, 300, 800}) {
        const auto pattern = [](int i) {
            return fmt::format(R"({{"type": "string", "pattern": "^b{}.*$"}})", i);
        };
        check_bounds(schema_in_budget, R"({"oneOf": [)" + many(count, pattern) + "]}", not_supported);
    }
}

TEST_CASE("the time to read a schema is linear in its size", "[cost]") {
    const auto member = [](int i) { return fmt::format(R"("name{}": {{"type": "integer"}})", i); };
    check_bounds(schema_in_budget, R"({"properties": {)" + many(50'000, member) + "}}", not_supported);
    check_bounds(schema_in_budget,
                 R"({"allOf": [)" +
                     many(5000, [&](int i) { return R"({"properties": {)" + member(i) + "}}"; }) + "]}",
                 not_supported);
    check_bounds(schema_in_budget,
                 R"({"allOf": [)" +
                     many(20'000, [](int i) { return fmt::format(R"({{"required": ["n{}"]}})", i); }) + "]}",
                 not_supported);
    check_bounds(schema_in_budget,
                 R"({"allOf": [)" +
                     many(2000, [](int i) { return fmt::format(R"({{"contains": {{"const": {}}}}})", i); }) +
                     "]}",
                 not_supported);
    check_bounds(
        schema_in_budget,
        R"({"$ref": "#/$defs/d0", "$defs": {)" +
            many(20'000, [](int i) { return fmt::format(R"("d{}": {{"$ref": "#/$defs/d{}"}})", i, i + 1); }) +
            R"(, "d20000": {"type": "null"}}})",
        is_language);
}

TEST_CASE("hostile grammars are matched or refused within the same bounds", "[cost]") {
    const std::string long_text(500, 'a');
    check_bounds(gbnf, "root ::= (((\"a\"{1,900}){1,900}){1,900}){1,900}", is_language);
    check_bounds(gbnf, "root ::= (\"a\"* \"a\"*){900} | (\"a\"? \"a\"?){900} \"b\"", is_language, long_text);
    check_bounds(lark, "start: A~900\nA: B~900\nB: C~900\nC: \"a\"~900", is_language, long_text);
    check_bounds(gbnf, "root ::= " + nested("(", "\"a\"", ")", 100'000), invalid);
    check_bounds(gbnf, "root ::= root \"a\" | \"a\"", not_supported);
}

TEST_CASE("long chains of rules are read within the same bounds", "[cost]") {
    constexpr int count = 20'000;
    const auto chain = [&](std::string_view format, std::string_view last) {
        std::string rules = "root ::= r0\n";
        for (int i = 0; i < count; ++i)
            rules += fmt::format(fmt::runtime(format), i, i + 1) + "\n";
        return rules + fmt::format("r{} ::= {}\n", count, last);
    };
    check_bounds(gbnf, chain("r{0} ::= r{1}", "\"b\""), is_language);
    check_bounds(gbnf, chain("r{0} ::= r{1} \"a\"", "\"b\""), is_language);
    check_bounds(gbnf, chain("r{0} ::= r{1}* r{1}", "\"b\"?"), is_language);
    check_bounds(gbnf, chain("r{0} ::= \"a\" r{1} | r{1}", "r0"), not_supported);
    check_bounds(gbnf, chain("r{0} ::= \"a\" r{1}", "r0"), invalid);
    std::string wide = "root ::= r0\nr0 ::=";
    std::string backwards = fmt::format("root ::= r{}\nr0 ::= \"b\"\n", count);
    std::string in_lark = "start: r0\n";
    for (int i = 1; i <= count; ++i) {
        wide += fmt::format(" r{}", i);
        backwards += fmt::format("r{} ::= r{}\n", i, i - 1);
        in_lark += fmt::format("r{}: r{}\n", i - 1, i);
    }
    for (int i = 1; i <= count; ++i)
        wide += fmt::format("\nr{} ::= \"a{}\"", i, i);
    check_bounds(gbnf_in_budget, "root ::= \"" + std::string(1'000'000, 'a') + "\"", not_supported);
    check_bounds(gbnf, wide, is_language);
    check_bounds(gbnf, backwards, is_language);
    check_bounds(lark, in_lark + fmt::format("r{}: \"b\"", count), is_language);
}

TEST_CASE("grammars in strings stay within the same bounds", "[cost]") {
    const std::string long_text(500, 'a');
    const std::string counted = "start: A~900\nA: B~900\nB: C~900\nC: \"a\"~900";
    const std::string ambiguous = "start: x*\nx: \"a\"* | \"a\" x? \"a\"*\n%ignore /a+/";
    std::string rules = "start: r0\n";
    for (int i = 0; i < 2000; ++i)
        rules += fmt::format("r{}: \"a\" r{} | \"<\" r{}? \">\"\n", i, (i + 1) % 2000, (i * 7 + 1) % 2000);
    const std::string raw = "<parameter=a>";
    for (const std::string& grammar : {counted, ambiguous, rules}) {
        check_bounds(lark_in_json, grammar, is_language, "{\"a\": \"" + long_text);
        check_bounds(lark_between_marks, grammar, is_language, raw + long_text);
    }
    check_bounds(lark_between_marks, "start: " + nested("(", "/.+/", ")~0..3000", 100), is_language,
                 raw + nested("</p", "arameter", "", 100));
    std::string alternatives = "\"00000\"";
    for (int i = 1; i < 100'000; ++i)
        alternatives += fmt::format("|\"{:05}\"", i);
    const std::string regex = "/" + nested("(", std::string(100'000, 'a'), "a)", 195) + "/";
    for (const std::string& text : {nested("(", alternatives, "|\"z\")", 195), regex})
        check_bounds(schema_in_budget, R"({"x-etna-lark": )" + json_quoted("start: " + text) + "}",
                     not_supported);
    check_bounds(lark_in_json, "start: start \"a\" | \"a\"", not_supported);
    check_bounds(lark_in_json, "start: " + nested("(", "\"a\"", ")", 100'000), invalid);
    check_bounds(compiled_schema,
                 R"({"type": "string", "minLength": 100, "maxLength": 200, "x-etna-lark": "start: /.*/"})",
                 not_supported);
    check_bounds(compiled_schema,
                 R"({"properties": {)" +
                     many(1000,
                          [](int i) {
                              return fmt::format(
                                  R"("name{}": {{"x-etna-lark": "start: \"(\" start? \")\" | \"{}\""}})", i,
                                  i);
                          }) +
                     "}}",
                 is_language);
}

namespace {

/// Accepts random tokens, at most `tokens_max`. Returns their number.
int walked(const std::string& grammar, int tokens_max, int* exhausted = nullptr) {
    GrammarCache grammars(some_words());
    GrammarMatcher matcher(grammars.make({.notation = Notation::gbnf, .text = grammar}).value());
    std::mt19937 random(5);
    for (int count = 0; count < tokens_max; ++count) {
        const auto mask = matcher.mask();
        if (!mask && exhausted != nullptr)
            *exhausted = 1;
        if (!mask || (*mask)->is_empty())
            return count;
        TokenId token = 0;
        do {
            token = static_cast<TokenId>(random() % 5000);
        } while (!(*mask)->allows(token));
        matcher.accept(token);
    }
    return tokens_max;
}

} // namespace

TEST_CASE("a text that exhausts an ambiguous grammar costs less than a second with all its masks", "[cost]") {
    for (const std::string_view letters : {"[a-z ]", "[a-z] | \" \""}) {
        const std::string grammar =
            fmt::format("root ::= s\ns ::= c | c s t | c t u\nt ::= c | c t s u | c u\n"
                        "u ::= c | c u t | c s s\nc ::= {}",
                        letters);
        const Cost cost = cost_of([&] {
            int exhausted = 0;
            static_cast<void>(walked(grammar, 100, &exhausted));
            return exhausted;
        });
        INFO(cost.seconds << " s, " << cost.kib << " KiB in all");
        CHECK(cost.exit_status == 1);
        if (is_measured)
            CHECK(cost.seconds < seconds_max);
    }
}

TEST_CASE("a hundred masks of thousands of alternative rules take less than a second", "[cost]") {
    std::string grammar = "root ::= r0";
    for (int i = 1; i < 4000; ++i)
        grammar += fmt::format(" | r{}", i);
    for (int i = 0; i < 4000; ++i)
        grammar += fmt::format("\nr{} ::= [a-z ] r{} | \"{}.\"", i, i, i);
    const Cost cost = cost_of([&] { return walked(grammar, 100); });
    INFO(cost.seconds << " s, " << cost.kib << " KiB in all");
    CHECK(cost.exit_status > 5);
    if (is_measured)
        CHECK(cost.seconds < seconds_max);
}
