// Small templates of every language feature, compared with jinja2 (tests/data/templates).

#include "core/jinja/json.hpp"
#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
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

TEST_CASE("every language feature renders as in jinja2, or is refused by name") {
    std::ifstream file(ETNA_TEST_DATA "/templates/language.json");
    const auto data = nlohmann::ordered_json::parse(file);
    Input input;
    for (const auto& [name, value] : data["context"].items())
        input.variables.emplace_back(name, from_json(value.dump()).value());
    std::size_t compared = 0;
    for (const auto& each : data["cases"]) {
        const std::string text = each["template"];
        CAPTURE(text);
        const std::string result = rendered(text, input);
        ++compared;
        if (each.contains("refused")) {
            const auto parsed = Template::create(text);
            REQUIRE(!parsed);
            CAPTURE(parsed.error().message);
            CHECK(parsed.error().message.find("template: line ") == 0);
            CHECK(std::any_of(each["refused"].begin(), each["refused"].end(), [&](const auto& part) {
                return parsed.error().message.find(": the " + part.template get<std::string>() +
                                                   " is not supported") != std::string::npos;
            }));
            continue;
        }
        if (each.contains("fails")) {
            CHECK(result.compare(0, 17, "error: template: ") == 0);
            CHECK(result.find(each["fails"].get<std::string>()) != std::string::npos);
            continue;
        }
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

TEST_CASE("using an undefined value fails with the reference's message") {
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

TEST_CASE("an error of raise_exception() differs from a rendering error") {
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

TEST_CASE("strftime_now formats the time that the caller passes") {
    const Input input = {.variables = {}, .now_unix_s = 1768480496};
    CHECK(rendered("{{ strftime_now('%Y-%m-%d %H:%M:%S|%d %b %Y|%A|%j%%') }}", input) ==
          "2026-01-15 12:34:56|15 Jan 2026|Thursday|015%");
    for (const std::string field : {"%f", "%Z", "%z"})
        CHECK(rendered("{{ strftime_now('" + field + "') }}", input)
                  .find("ValueError: strftime_now: '" + field + "' is not supported") != std::string::npos);
    CHECK(rendered("{{ strftime_now('') }}|", input) == "|");
}

TEST_CASE("a template changes its own lists and dicts, never the caller's") {
    const Input input = {
        .variables = {{"l", Value::list({Value("a")})}, {"d", Value::dict({{"k", Value("v")}})}}};
    const std::string text =
        "{% set _ = l.append('b') %}{% set _ = d.update(x=1) %}{{ l }}{{ d }}{{ l.pop(0) }}{{ l }}";
    CHECK(rendered(text, input) == "['a', 'b']{'k': 'v', 'x': 1}a['b']");
    CHECK(rendered(text, input) == "['a', 'b']{'k': 'v', 'x': 1}a['b']");
    CHECK(rendered("{% set x = [] %}{% set y = x.append(x) %}", {}).empty());
    CHECK(rendered("{% set x = {} %}{% set y = x.update(x=x) %}", {}).empty());
    CHECK(rendered("{% set x = [1] %}{{ x.extend([3, 2]) }}{{ x }}", {}) == "None[1, 3, 2]");
    CHECK(rendered("{% set x = {'a': 1} %}{{ x.update(b=2) }}{{ x.pop('a') }}{{ x.copy() }}", {}) ==
          "None1{'b': 2}");
    CHECK(rendered("{{ l + ['b'] }}{{ l }}{{ d }}", input) == "['a', 'b']['a']{'k': 'v'}");
    CHECK(rendered("{{ {'pop': 1}['pop'] }}{{ l.add }}{{ d.discard }}", input) == "1");
}

TEST_CASE("a builtin that etna does not have is refused by name when the template is loaded") {
    const auto refused = [](const std::string& text, const std::string& message) {
        CAPTURE(text);
        const auto chat = Template::create("a\n{% if false %}" + text + "{% endif %}");
        REQUIRE(!chat);
        CHECK(chat.error().kind == ErrorKind::corrupt);
        CHECK(chat.error().message.find("template: line 2, column ") == 0);
        CHECK(chat.error().message.find(": the " + message + " is not supported") != std::string::npos);
        CHECK(chat.error().hint.find("etna-templates") != std::string::npos);
    };
    for (const std::string filter :
         {"abs",      "attr",      "batch",  "center",    "filesizeformat", "forceescape", "groupby",
          "nosuch",   "pprint",    "random", "round",     "slice",          "striptags",   "sum",
          "truncate", "urlencode", "urlize", "wordcount", "wordwrap",       "xmlattr"}) {
        refused("{{ x|" + filter + " }}", "filter '" + filter + "'");
        refused("{{ 1 if x else (x|" + filter + "(1)) }}", "filter '" + filter + "'");
        refused("{% filter " + filter + " %}{% endfilter %}", "filter '" + filter + "'");
        refused("{{ x|map('" + filter + "')|list }}", "filter '" + filter + "'");
    }
    for (const std::string test : {"divisibleby", "escaped", "filter", "lower", "nosuch", "test", "upper"}) {
        refused("{{ x is " + test + " }}", "test '" + test + "'");
        refused("{{ x|select('" + test + "') }}{{ x|list }}", "test '" + test + "'");
        refused("{{ x|rejectattr('a', '" + test + "') }}", "test '" + test + "'");
    }
    for (const std::string method :
         {"center",   "changed",      "clear",        "count",     "cycle",    "encode",    "format_map",
          "fromkeys", "index",        "insert",       "isdigit",   "ljust",    "partition", "popitem",
          "remove",   "reverse",      "setdefault",   "sort",      "swapcase", "translate", "zfill",
          "rsplit",   "removeprefix", "removesuffix", "splitlines"})
        refused("{{ x." + method + "() }}", "method '" + method + "'");
    for (const std::string function : {"cycler", "dict", "joiner", "lipsum"})
        refused("{{ " + function + "() }}", "function '" + function + "'");
    for (const std::string tag :
         {"autoescape", "block", "do", "extends", "from", "import", "include", "nosuch"})
        refused("{% " + tag + " x %}", "tag '" + tag + "'");
    refused("{% for a in x recursive %}{{ loop(a) }}{% endfor %}", "loop modifier 'recursive'");
    for (const std::string variable : {"kwargs", "varargs"})
        refused("{% macro m() %}{{ " + variable + " }}{% endmacro %}", "variable '" + variable + "'");
    for (const std::string argument : {"*", "**"}) {
        refused("{{ x(" + argument + "y) }}", "argument '" + argument + "'");
        refused("{{ x|map('upper', " + argument + "y) }}", "argument '" + argument + "'");
    }
    refused("{{ x ** 2 }}", "operator '**'");
    for (const std::string number : {"0x1F", "0B101", "0o17", "1_000", "9223372036854775808"}) {
        refused("{{ " + number + " }}", "number '" + number + "'");
        refused("{{ -" + number + " }}", "number '" + number + "'");
    }
    refused("{{ '%s %5d' % (1, 2) }}", "format '%5d'");
    refused("{{ '%.2f'|format(1) }}", "format '%.2f'");
    refused("{{ '{} {:>5}'.format(1, 2) }}", "format '{:>5}'");
}

TEST_CASE("a name that etna refuses as a builtin can be a variable or a key") {
    const Input input = {.variables = {{"x", Value::dict({{"index", Value("i")}, {"count", Value("c")}})}}};
    CHECK(rendered("{{ x.index }}{{ x.count }}{{ x['index'] }}", input) == "ici");
    CHECK(rendered("{% macro joiner() %}j{% endmacro %}{{ joiner() }}", input) == "j");
    CHECK(rendered("{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(kwargs=1) }}", input) == "1");
    CHECK(rendered("{% set f = '%5d' %}{{ f % 1 }}", input)
              .find("ValueError: the format '%5d' is not "
                    "supported") != std::string::npos);
}

TEST_CASE("JSON round-trips through values") {
    const std::string text = R"({"b":1,"a":[1.5,null,true,"é\u00e9"],"b":2})";
    const Input input = {.variables = {{"v", from_json(text).value()}}};
    CHECK(rendered("{{ v|tojson }}", input) == R"({"b": 2, "a": [1.5, null, true, "éé"]})");
    CHECK(!from_json("{"));
    CHECK(!from_json(std::string(300, '[')));
    CHECK(!from_json("1e400"));
}
