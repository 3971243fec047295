// Strings of a schema that are constrained by a Lark grammar: against the grammar itself over the plain
// texts, and against an independent recogniser.

#include "core/base/json.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

using namespace etna;
using namespace etna::grammar;

namespace {

using OrderedJson = etna::Json;
using Texts = std::vector<std::string>;

std::string schema_of(std::string_view grammar) {
    return etna::dump_json({{"type", "string"}, {"x-etna-lark", grammar}});
}

/// The texts of an expression, in its own language.
class Allowed {
public:
    explicit Allowed(const std::function<Result<Expression>(Language&)>& make) : root_(make(language_)) {
        INFO((root_ ? std::string() : root_.error().message));
        REQUIRE(root_.has_value());
    }
    static Allowed by_schema(const std::string& schema, const JsonSchemaOptions& options = {}) {
        return Allowed([&](Language& language) { return json_schema(language, schema, options); });
    }
    static Allowed by_grammar(std::string_view grammar) {
        return Allowed([&](Language& language) { return lark(language, grammar); });
    }

    bool operator()(std::string_view text) { return language_.is_nullable(language_.next(*root_, text)); }

private:
    Language language_;
    Result<Expression> root_;
};

Error schema_error(const OrderedJson& schema, const JsonSchemaOptions& options = {}) {
    Language language;
    const auto root = json_schema(language, etna::dump_json(schema), options);
    REQUIRE_FALSE(root.has_value());
    return root.error();
}

/// All texts of up to `length` of the parts.
Texts all_of(const Texts& parts, std::size_t length) {
    Texts texts = {""};
    for (std::size_t begin = 0; length > 0; --length) {
        const std::size_t end = texts.size();
        for (std::size_t i = begin; i < end; ++i) {
            for (const std::string& part : parts)
                texts.push_back(texts[i] + part);
        }
        begin = end;
    }
    return texts;
}

std::size_t characters_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

/// Grammars of characters that a JSON string has to escape, and of others.
const Texts grammars = {
    R"lark(start: item*
item: "(" start ")" | "\"" | /[a\\]/)lark",
    R"lark(start: (WORD "\"")+ WORD?
WORD: /[a\\]+/
%ignore "\n")lark",
    R"lark(start: /[^"a]*/ "a"i ("\\" | /\n/)*)lark",
    R"lark(start: "(" [start] "\n" start? | EACH
EACH: "\u00e9".."\U0001f600" | "\u001f")lark",
    R"lark(start: sum
sum: atom ("\\" atom)*
atom: "a"+ | "(" sum ")" | "\"" /[^"]*/ "\""
%ignore /[\n]/)lark"};

/// The description as a grammar, with other letters.
std::string written(const test::Description& one, const std::function<std::string(char)>& letter) {
    using Kind = test::Description::Kind;
    Texts parts;
    for (const test::Description& part : one.parts)
        parts.push_back(written(part, letter));
    switch (one.kind) {
    case Kind::letter:
        return letter(one.letter);
    case Kind::any_letter:
        return "(" + letter('a') + " | " + letter('b') + ")";
    case Kind::nothing:
        return "never";
    case Kind::empty:
        return "()";
    case Kind::sequence:
    case Kind::either:
        return fmt::format("({})", fmt::join(parts, one.kind == Kind::sequence ? " " : " | "));
    case Kind::repeat:
        return one.max == unbounded ? fmt::format("(({0})~{1} ({0})*)", parts[0], one.min)
                                    : fmt::format("({})~{}..{}", parts[0], one.min, one.max);
    case Kind::unit:
        return "(" + parts[0] + ")";
    case Kind::rule:
        return fmt::format("rule_{}", one.rule);
    }
    return {};
}

std::string written(const test::Descriptions& rules, const std::function<std::string(char)>& letter) {
    std::string grammar = "start: rule_0\nnever: " + letter('a') + " never\n";
    for (std::size_t i = 0; i < rules.size(); ++i)
        grammar += fmt::format("rule_{}: {}\n", i, written(rules[i], letter));
    return grammar;
}

} // namespace

TEST_CASE("the content of a string is a text of the grammar") {
    const Texts raw =
        all_of({"a", "A", "\"", "\\", "\n", "\x1F", "(", ")", "\xC3\xA9", "\xF0\x9F\x98\x80"}, 4);
    for (const std::string& grammar : grammars) {
        Allowed grammar_allows = Allowed::by_grammar(grammar);
        Allowed schema_allows = Allowed::by_schema(schema_of(grammar));
        int fitting = 0;
        for (const std::string& text : raw) {
            CAPTURE(grammar, text);
            const bool fits = grammar_allows(text);
            fitting += fits ? 1 : 0;
            if (schema_allows(etna::dump_json(OrderedJson(text))) != fits)
                FAIL_CHECK("the schema says otherwise");
        }
        CHECK(fitting > 10);
    }
}

TEST_CASE("only canonically escaped strings are allowed") {
    const Texts texts = all_of({"\"", "\\", "a", "n", "(", "\n"}, 6);
    for (const std::string& grammar : grammars) {
        Allowed grammar_allows = Allowed::by_grammar(grammar);
        Allowed schema_allows = Allowed::by_schema(schema_of(grammar));
        for (const std::string& text : texts) {
            const OrderedJson value = etna::parse_json(text);
            const bool fits = value.is_string() && etna::dump_json(value) == text &&
                              grammar_allows(value.get<std::string>());
            CAPTURE(grammar, text);
            if (schema_allows(text) != fits)
                FAIL_CHECK("the schema says otherwise");
        }
    }
}

TEST_CASE("characters are escaped as in patterns") {
    Allowed allowed = Allowed::by_schema(schema_of("start: /[\\s\\S]/"));
    Allowed pattern = Allowed::by_schema(R"({"type": "string", "pattern": "^[\\s\\S]$"})");
    for (const char* const text : {R"("a")", R"("\u0061")", R"("/")", R"("\/")", R"("\n")", R"("\u000a")",
                                   R"("\u000b")", R"("\u000B")", "\"\n\"", "\"\x7F\"", "\"\xF0\x9F\x98\x80\"",
                                   R"("\ud83d\ude00")", "\"\xF0\x9F\"", R"("\")", R"("")"}) {
        CAPTURE(text);
        CHECK(allowed(text) == pattern(text));
    }
    CHECK(allowed("\"\xF0\x9F\x98\x80\""));
    CHECK(allowed(R"("\u000b")"));
}

TEST_CASE("random grammars of escaped letters agree with the recogniser") {
    const auto quoted = [](char letter) { return std::string(letter == 'a' ? R"("\"")" : R"("\\\n")"); };
    std::mt19937 random(11);
    const Texts texts = test::all_texts(6);
    int fitting = 0;
    for (int i = 0; i < 150; ++i) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        const std::string grammar = written(rules, quoted);
        INFO(grammar);
        Language language;
        const auto root = json_schema(language, schema_of(grammar), {});
        for (const std::string& text : texts) {
            std::string raw;
            for (const char letter : text)
                raw += letter == 'a' ? "\"" : "\\\n";
            const bool fits = test::fits(rules, text);
            fitting += fits ? 1 : 0;
            if ((root && language.is_nullable(language.next(*root, etna::dump_json(OrderedJson(raw))))) !=
                fits)
                FAIL_CHECK(text);
        }
        CHECK((root || root.error().message.find("no text fits") != std::string::npos));
    }
    CHECK(fitting > 1000);
}

TEST_CASE("a grammar works in an object, next to other grammars and other types") {
    const OrderedJson brackets = {{"type", OrderedJson::array({"string", "null"})},
                                  {"x-etna-lark", "start: \"(\" start? \")\" start?"}};
    const OrderedJson word = {{"x-etna-lark", "start: /[a-c]+/"}, {"type", "string"}};
    OrderedJson schema = {{"type", "object"}, {"required", {"input"}}, {"additionalProperties", false}};
    schema["properties"] = {{"input", brackets}, {"more", {{"anyOf", {brackets, word}}}}};
    Allowed allowed = Allowed::by_schema(etna::dump_json(schema));
    CHECK(allowed(R"x({"input": "(()())"})x"));
    CHECK(allowed(R"x({"input": null, "more": "()"})x"));
    CHECK(allowed(R"x({"input": "()", "more": "abc"})x"));
    CHECK_FALSE(allowed(R"x({"input": "(()"})x"));
    CHECK_FALSE(allowed(R"x({"input": ""})x"));
    CHECK_FALSE(allowed(R"x({"input": "()", "more": "a()"})x"));
}

TEST_CASE("errors of grammars in schemas name the keyword and the position in the grammar") {
    const auto with = [](std::string_view name, const OrderedJson& value) {
        OrderedJson schema = {{"type", "string"}, {"x-etna-lark", "start: \"a\"*"}};
        schema[name] = value;
        return OrderedJson{{"items", schema}};
    };
    const std::vector<std::pair<std::string, OrderedJson>> unsupported = {
        {"minLength", 200},
        {"maxLength", 200},
        {"pattern", "a{200}"},
        {"enum", {std::string(200, 'a')}},
        {"not", {{"pattern", "a{200}"}}},
        {"allOf", OrderedJson::array({OrderedJson{{"x-etna-lark", "start: \"a\" | \"b\""}}})}};
    for (const auto& [name, value] : unsupported) {
        const Error error = schema_error(with(name, value));
        INFO(error.message);
        CHECK(error.kind == ErrorKind::unsupported);
        CHECK(error.message.starts_with("#/items/x-etna-lark: "));
        CHECK(error.message.find(name == "allOf" ? "`x-etna-lark`" : "`" + name + "`") != std::string::npos);
        Allowed::by_schema(etna::dump_json(with(name, value)), {.is_lenient = true});
    }
    const OrderedJson grammar = {{"x-etna-lark", "start: \"a\""}};
    CHECK(schema_error({{"not", grammar}, {"type", "string"}}).message.starts_with("#/not/x-etna-lark: "));
    CHECK(schema_error({{"propertyNames", grammar}}).message.starts_with("#/propertyNames/x-etna-lark: "));

    const Error wrong = schema_error({{"x-etna-lark", "start: \"a\"\n  | item"}});
    CHECK(wrong.kind == ErrorKind::invalid_argument);
    CHECK(wrong.message == "#/x-etna-lark: the grammar, line 2, column 5: the rule `item` is undefined");
    CHECK(schema_error({{"x-etna-lark", "start: start \"a\" | \"b\""}}).message ==
          "#/x-etna-lark: `start` is left-recursive");
    CHECK(schema_error({{"x-etna-lark", "start: \"a\" start"}}).message ==
          "#/x-etna-lark: no text fits the grammar");
    CHECK(schema_error({{"x-etna-lark", 5}}).kind == ErrorKind::invalid_argument);
}

TEST_CASE("short bounds are enforced together with a grammar") {
    const Texts raw = all_of({"a", "\"", "\\", "\n", "(", ")", "\xC3\xA9"}, 5);
    const std::vector<std::pair<OrderedJson, std::function<bool(const std::string&)>>> bounds = {
        {{{"minLength", 3}}, [](const std::string& text) { return characters_of(text) >= 3; }},
        {{{"maxLength", 3}}, [](const std::string& text) { return characters_of(text) <= 3; }},
        {{{"pattern", "a[^a]*\"$"}},
         [](const std::string& text) { return text.ends_with('"') && text.find('a') != std::string::npos; }},
        {{{"not", {{"pattern", "\\\\"}}}},
         [](const std::string& text) { return text.find('\\') == std::string::npos; }},
        {{{"enum", {"(\"a)", "a\"", "", 5}}},
         [](const std::string& text) { return text == "(\"a)" || text == "a\"" || text.empty(); }},
        {{{"not", {{"enum", {"\"", "a"}}}}},
         [](const std::string& text) { return text != "\"" && text != "a"; }}};
    for (const std::string& grammar : grammars) {
        Allowed grammar_allows = Allowed::by_grammar(grammar);
        for (const auto& [bound, holds] : bounds) {
            OrderedJson schema = bound;
            schema["type"] = "string";
            schema["x-etna-lark"] = grammar;
            Language language;
            const auto root = json_schema(language, etna::dump_json(schema), {});
            CAPTURE(grammar, etna::dump_json(schema));
            CHECK((root || root.error().message.find("no text fits") != std::string::npos));
            for (const std::string& text : raw) {
                const bool fits = grammar_allows(text) && holds(text);
                if ((root &&
                     language.is_nullable(language.next(*root, etna::dump_json(OrderedJson(text))))) != fits)
                    FAIL_CHECK(text);
            }
        }
    }
}

TEST_CASE("between marks a text is unescaped and contains no mark") {
    const Writing writing = {.form = Form::tagged,
                             .not_in_strings = {"</p>", "<|"},
                             .member = {{"<p=", TaggedSlot::name}, {">", TaggedSlot::value}, {"</p>"}},
                             .read_as = {{"input", json_string}}};
    for (const std::string& grammar :
         {std::string("start: /[<\\/p>|\"]*/"),
          std::string("start: \"<\" start? \"/p>\" | \"<\"+ \"|\"? | \"</\""),
          std::string("start: item+ \"/\"\nitem: \"<\" [item] \">\" | \"p\"+\n%ignore \"/\"")}) {
        OrderedJson schema = {{"type", "object"}, {"required", {"input"}}, {"additionalProperties", false}};
        schema["properties"]["input"] = etna::parse_json(schema_of(grammar));
        Allowed grammar_allows = Allowed::by_grammar(grammar);
        Allowed written_allows = Allowed::by_schema(etna::dump_json(schema), {.writing = writing});
        int fitting = 0;
        for (const std::string& text : all_of({"<", "/", "p", ">", "|", "\""}, 6)) {
            const bool has_mark =
                text.find("</p>") != std::string::npos || text.find("<|") != std::string::npos;
            const bool fits = !has_mark && grammar_allows(text);
            fitting += fits ? 1 : 0;
            CAPTURE(grammar, text);
            if (written_allows("<p=input>" + text + "</p>") != fits)
                FAIL_CHECK("the writing says otherwise");
        }
        CHECK(fitting > 5);
    }
}

TEST_CASE("a patch is constrained by its grammar in either notation") {
    const std::string grammar = R"lark(start: "*** Begin Patch" LF hunk+ "*** End Patch" LF?
hunk: add | update
add: "*** Add File: " filename LF ("+" /(.*)/ LF -> line)+
update: "*** Update File: " filename LF change+
change: ("@@" | "@@ " /(.+)/) LF | ("+" | "-" | " ") /(.*)/ LF
filename: /(.+)/
%import common.LF)lark";
    const std::string patch =
        "*** Begin Patch\n*** Update File: a \"b\".html\n@@ <body>\n-<p>\\d</q>\n+\xC3\xA9 </\n"
        "*** Add File: c\n+\n*** End Patch\n";
    OrderedJson schema = {{"type", "object"}, {"required", {"input"}}, {"additionalProperties", false}};
    schema["properties"]["input"] = etna::parse_json(schema_of(grammar));
    Allowed in_json = Allowed::by_schema(etna::dump_json(schema), {.spacing = JsonSpacing::none});
    CHECK(in_json(etna::dump_json({{"input", patch}})));
    CHECK_FALSE(in_json(etna::dump_json({{"input", patch + "more"}})));
    const Writing writing = {.form = Form::tagged,
                             .not_in_strings = {"</p>"},
                             .member = {{"<p=", TaggedSlot::name}, {">\n", TaggedSlot::value}, {"\n</p>"}},
                             .read_as = {{"input", json_string}}};
    Allowed between_marks = Allowed::by_schema(etna::dump_json(schema), {.writing = writing});
    CHECK(between_marks("<p=input>\n" + patch + "\n</p>"));
    CHECK_FALSE(between_marks("<p=input>\n" + patch + "more\n</p>"));
    CHECK_FALSE(between_marks("<p=input>\n*** Begin Patch\n*** Add File: c\n+</p>\n*** End Patch\n\n</p>"));
}

TEST_CASE("between marks a text that a parser reads as another value is not a text of the grammar") {
    const Writing writing = {.form = Form::tagged,
                             .not_in_strings = {"</p>"},
                             .member = {{"<p=", TaggedSlot::name}, {">", TaggedSlot::value}, {"</p>"}}};
    Allowed allowed = Allowed::by_schema(
        R"lark({"properties": {"x": {"type": ["string", "null"], "x-etna-lark": "start: \"(\" start \")\" | /[a-z0-9]+/"}}})lark",
        {.writing = writing});
    CHECK(allowed("<p=x>abc</p>"));
    CHECK(allowed("<p=x>null</p>"));
    CHECK_FALSE(allowed("<p=x>true</p>"));
    CHECK_FALSE(allowed("<p=x>12</p>"));
    CHECK_FALSE(allowed("<p=x>(a)</p>"));
    CHECK_FALSE(allowed("<p=x>-</p>"));
}

TEST_CASE("a lenient schema drops a grammar that cannot be enforced") {
    Allowed allowed = Allowed::by_schema(schema_of("start: /(?=a)b/"), {.is_lenient = true});
    CHECK(allowed(R"("anything")"));
    CHECK(schema_error({{"x-etna-lark", "start: ("}}, {.is_lenient = true}).kind ==
          ErrorKind::invalid_argument);
}

TEST_CASE("the check of a grammar is charged to the same step budget") {
    std::string nested(20'000, 'a');
    for (int i = 0; i < 100; ++i)
        nested = "(" + nested + "a)";
    Language language;
    language.set_step_budget(1'000'000, true);
    const auto made = json_schema(language, schema_of("start: /" + nested + "/ ("), {});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind ==
          ErrorKind::unsupported); // before the end, at which a bracket is missing, is read
    CHECK(language.is_out_of_steps());
}
