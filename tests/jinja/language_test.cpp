// The language, piece by piece, against what jinja2 makes of it (tests/data/templates).

#include "core/jinja/from_json.hpp"
#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::jinja;

namespace {

std::string rendered(const std::string& text, const Input& input) {
    const auto chat = Template::create(text);
    if (!chat)
        return "error: " + chat.error().message;
    const auto result = chat->render(input);
    return result ? *result : "error: " + result.error().message;
}

} // namespace

TEST_CASE("each piece of the language does what it does in jinja2") {
    std::ifstream file(ETNA_TEST_DATA "/templates/language.json");
    const auto data = nlohmann::ordered_json::parse(file);
    Input input;
    input.mutation = Mutation::refused;
    for (const auto& [name, value] : data["context"].items())
        input.variables.emplace_back(name, from_json(value.dump()).value());
    std::size_t compared = 0;
    for (const auto& each : data["cases"]) {
        const std::string text = each["template"];
        CAPTURE(text);
        const std::string result = rendered(text, input);
        ++compared;
        if (each.contains("output")) {
            CHECK(result == each["output"].get<std::string>());
            continue;
        }
        CAPTURE(each["error"].get<std::string>());
        CHECK(result.compare(0, 7, "error: ") == 0);
        if (each.contains("line"))
            CHECK(result.find("line " + std::to_string(each["line"].get<int>())) != std::string::npos);
    }
    std::cout << "language: " << compared << " small templates compared\n";
    CHECK(compared > 640);
}

TEST_CASE("what is undefined fails with the reference's words where it is used") {
    const Input input = {.variables = {{"d", Value::dict({{"a", Value("x")}})}, {"nil", None{}}}};
    CHECK(rendered("{{ d.b.c }}", input) ==
          "error: template: line 1, column 7: UndefinedError: 'dict object' has no attribute 'b'");
    CHECK(rendered("\n  {{ q.c }}", input) ==
          "error: template: line 2, column 7: UndefinedError: 'q' is undefined");
    CHECK(rendered("{{ d.a[0][5].x }}", input) ==
          "error: template: line 1, column 13: UndefinedError: str object has no element 5");
    CHECK(rendered("{{ nil.strip() }}", input) ==
          "error: template: line 1, column 13: UndefinedError: 'None' has no attribute 'strip'");
    CHECK(rendered("{{ nil + 'a' }}", input) ==
          "error: template: line 1, column 4: TypeError: unsupported operand "
          "type(s) for +: 'NoneType' and 'str'");
    CHECK(rendered("{{ 'a' + nil }}", input) ==
          "error: template: line 1, column 4: TypeError: can only concatenate str (not \"NoneType\") to str");
}

TEST_CASE("a refusal is told from a failure") {
    const auto refusing = Template::create("{{ raise_exception('Roles must alternate') }}");
    const auto refused = refusing->render({});
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::invalid_argument);
    CHECK(refused.error().message == "Roles must alternate");
    const auto failing = Template::create("{{ 1 + 'a' }}")->render({});
    REQUIRE(!failing);
    CHECK(failing.error().kind == ErrorKind::unsupported);
    const auto wrong = Template::create("a\n{% if %}");
    REQUIRE(!wrong);
    CHECK(wrong.error().kind == ErrorKind::corrupt);
    CHECK(wrong.error().message.find("template: line 2, column 7: ") == 0);
}

TEST_CASE("the clock is the caller's") {
    const Input input = {.variables = {}, .now_unix_s = 1768480496};
    CHECK(rendered("{{ strftime_now('%Y-%m-%d %H:%M:%S|%d %b %Y|%A|%j%%') }}", input) ==
          "2026-01-15 12:34:56|15 Jan 2026|Thursday|015%");
    CHECK(rendered("{{ strftime_now('%f%Z%z') }}", input) == "000000");
    CHECK(rendered("{{ strftime_now('') }}|", input) == "|");
}

TEST_CASE("lists and dicts change where that is allowed, and the caller's never do") {
    Input input = {.variables = {{"l", Value::list({Value("a")})}, {"d", Value::dict({{"k", Value("v")}})}}};
    const std::string text =
        "{% set _ = l.append('b') %}{% set _ = d.update(x=1) %}{{ l }}{{ d }}{{ l.pop(0) }}{{ l }}";
    CHECK(rendered(text, input) == "['a', 'b']{'k': 'v', 'x': 1}a['b']");
    CHECK(rendered(text, input) == "['a', 'b']{'k': 'v', 'x': 1}a['b']");
    input.mutation = Mutation::refused;
    CHECK(rendered(text, input)
              .find("SecurityError: access to attribute 'append' of 'list' object is unsafe.") !=
          std::string::npos);
    CHECK(rendered("{% set x = [] %}{% set y = x.append(x) %}", {}).empty());
    CHECK(rendered("{% set x = [1] %}{{ x.sort() }}{{ x.extend([3, 2]) }}{{ x.reverse() }}{{ x }}", {}) ==
          "NoneNoneNone[2, 3, 1]");
}

TEST_CASE("where lists and dicts may not change, all that would change them is refused") {
    Input input = {.variables = {{"l", Value::list({Value("a")})}, {"d", Value::dict({{"k", Value("v")}})}}};
    input.mutation = Mutation::refused;
    const auto refused = [&](const std::string& object, const std::string& type, const std::string& method) {
        CAPTURE(object, method);
        CHECK(rendered("{{ " + object + "." + method + "() }}", input)
                  .find("SecurityError: access to attribute '" + method + "' of '" + type +
                        "' object is unsafe.") != std::string::npos);
        CHECK(rendered("{{ " + object + "['" + method + "'] is defined }}", input) == "False");
        CHECK(rendered("{{ " + object + "|attr('" + method + "') }}", input).empty());
    };
    for (const char* method : {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"}) {
        refused("l", "list", method);
        refused("[1]", "list", method);
    }
    for (const char* method : {"clear", "pop", "popitem", "setdefault", "update"}) {
        refused("d", "dict", method);
        refused("{'a': 1}", "dict", method);
    }
    CHECK(rendered("{{ l + ['b'] }}{{ dict(d, x=1) }}{{ l }}{{ d }}", input) ==
          "['a', 'b']{'k': 'v', 'x': 1}['a']{'k': 'v'}");
    CHECK(rendered("{{ {'pop': 1}['pop'] }}{{ l.add }}{{ d.discard }}", input) == "1");
}

TEST_CASE("JSON becomes values and values become JSON") {
    const std::string text = R"({"b":1,"a":[1.5,null,true,"é\u00e9"],"b":2})";
    const Input input = {.variables = {{"v", from_json(text).value()}}};
    CHECK(rendered("{{ v|tojson }}", input) == R"({"b": 2, "a": [1.5, null, true, "éé"]})");
    CHECK(!from_json("{"));
    CHECK(!from_json(std::string(300, '[')));
    CHECK(!from_json("1e400"));
}
