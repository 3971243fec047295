// Every template ends within its limits of time and memory.

#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::jinja;

namespace {

constexpr Limits small = {.live_bytes = std::size_t{4} << 20, .work = 200'000'000};

std::string failure(const std::string& text, const Limits& limits = small) {
    const auto chat = Template::create(text, limits);
    if (!chat)
        return chat.error().message;
    const auto result = chat->render({});
    return result ? "" : result.error().message;
}

std::string repeated(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i)
        out += text;
    return out;
}

bool mentions(const std::string& message, const std::string& part) {
    CAPTURE(message);
    return message.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("sizes are checked before memory is allocated") {
    CHECK(mentions(failure("{{ 'a' * 1000000000 }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ 'a' * 1000000000000000000 }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ [1] * 1000000000 }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ 'a'|indent(1000000000, true) }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ ('a' * 100000).replace('a', 'b' * 1000) }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ [1]|tojson(indent=1000000000) }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ '%s%s' % ('a' * 3000000, 'b' * 3000000) }}"), "MiB of memory"));
    CHECK(mentions(failure("{{ '{}{}'.format('a' * 3000000, 'b' * 3000000) }}"), "MiB of memory"));
    CHECK(mentions(failure("{% for i in range(1000000000) %}{% endfor %}"), "OverflowError"));
    CHECK(mentions(failure("{{ 1000000000 * 1000000000 * 1000000000 }}"), "OverflowError"));
    CHECK(mentions(failure(std::string((std::size_t{1} << 20) + 1, 'a')), "the limit is"));
}

TEST_CASE("growth over many steps is bounded") {
    const std::string loop =
        "{% set ns = namespace(x=BEGIN) %}{% for i in range(100000) %}{% set ns.x = STEP %}{% endfor %}";
    const auto with = [&](const std::string& begin, const std::string& step) {
        std::string text = loop;
        text.replace(text.find("BEGIN"), 5, begin);
        return text.replace(text.find("STEP"), 4, step);
    };
    CHECK(mentions(failure(with("'a'", "ns.x + ns.x")), "MiB of memory"));
    CHECK(mentions(failure(with("[1]", "ns.x + ns.x")), "MiB of memory"));
    CHECK(mentions(failure(with("1", "[ns.x]")), "nested"));
    CHECK(mentions(failure(with("1", "{'a': ns.x}")), "nested"));
    CHECK(failure(with("[1]", "ns.x|map('string')")).empty()); // a generator does not contain its source
    CHECK(mentions(failure(with("[1]", "[ns.x]|map('default')")), "nested"));
    CHECK(failure(with("1", "namespace(x=ns.x)")).find("Segmentation") == std::string::npos);
    CHECK(mentions(failure("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"),
                   "work limit"));
    CHECK(mentions(failure("{{ range(99999)|list + range(99999)|list }}"), "MiB of memory"));
    CHECK(mentions(failure("{% for a in range(99999) %}" + std::string(1000, 'x') + "{% endfor %}"),
                   "MiB of memory"));
    CHECK(mentions(failure("{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}"), "M"));
    CHECK(mentions(
        failure("{% set d = {} %}{% for x in range(99999) %}{% set _ = d.update({x: x}) %}{% endfor %}"),
        "MiB of memory"));
    CHECK(mentions(failure("{% set ns = namespace(d={}) %}{% for x in range(999) %}{% set e = {} %}"
                           "{% set _ = e.update(d=ns.d) %}{% set ns.d = e %}{% endfor %}"),
                   "nested"));
    CHECK(mentions(failure("{% set l = [1] %}{% for x in range(99) %}{% set _ = l.extend(l) %}{% endfor %}"),
                   "MiB of memory"));
}

TEST_CASE("values that contain themselves end with an error") {
    CHECK(mentions(failure("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}"), "RecursionError"));
    CHECK(mentions(failure("{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}"), "RecursionError"));
    CHECK(mentions(
        failure(
            "{% set l = [] %}{% set k = [] %}{% set _ = l.append(k) %}{% set _ = k.append(l) %}{{ l == k }}"),
        "RecursionError"));
    CHECK(mentions(failure("{% set d = {} %}{% set _ = d.update(d=d) %}{{ d }}"), "RecursionError"));
    CHECK(mentions(failure("{% set d = {} %}{% set _ = d.update(d=d) %}{{ d|tojson }}"), "RecursionError"));
    CHECK(mentions(failure("{% set d = {} %}{% set e = {'d': d} %}{% set _ = d.update(d=e) %}{{ d == e }}"),
                   "RecursionError"));
    CHECK(failure("{% set d = {} %}{% set _ = d.update(v=d.items(), p=d.pop) %}").empty());
    CHECK(failure("{% macro m() %}{{ caller() }}{% endmacro %}{% set d = {} %}"
                  "{% call m() %}{% set _ = d.update(m=m, c=caller) %}{% endcall %}")
              .empty());
    CHECK(mentions(failure("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}"), "TypeError"));
    CHECK(failure("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a[0] == ns }}").empty());
    CHECK(failure("{% set ns = namespace() %}{% for x in [1] %}{% set ns.l = loop %}{% endfor %}").empty());
    CHECK(failure("{% set ns = namespace(p=[]) %}{% for i in range(20000) %}{% set q = [] %}{% set _ = "
                  "q.append(ns.p) %}"
                  "{% set ns.p = q %}{% endfor %}")
              .find("nested") != std::string::npos);
}

TEST_CASE("large integers are errors, and their memory and work are bounded") {
    CHECK(mentions(failure("{{ ('1' * 4000)|int }}"), "OverflowError"));
    CHECK(mentions(failure("{% set n = '[' ~ '1' * 300 ~ ']' %}{% for i in range(99999) %}"
                           "{% for j in range(9999) %}{{ (n|from_json)[0] == 1 }}{% endfor %}{% endfor %}"),
                   "work limit"));
    CHECK(mentions(failure("{{ " + std::string(5000, '1') + " }}"), "the number '1"));
}

TEST_CASE("recursion and nesting are bounded") {
    CHECK(mentions(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "RecursionError"));
    CHECK(mentions(failure("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}"),
                   "RecursionError"));
    CHECK(mentions(failure(repeated("{% with %}", 5000)), "levels of nesting"));
    CHECK(mentions(failure("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "'recursive'"));
    CHECK(mentions(failure(repeated("{% generation %}", 5000)), "levels of nesting"));
    CHECK(mentions(failure("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}"),
                   "levels of nesting"));
    CHECK(mentions(failure("{{ " + repeated("not ", 5000) + "1 }}"), "levels of nesting"));
    CHECK(mentions(failure("{{ " + repeated("-", 5000) + "1 }}"), "levels of nesting"));
    CHECK(mentions(failure("{{ 1" + repeated(" + 1", 5000) + " }}"), "nested"));
    CHECK(mentions(failure("{{ a" + repeated(".a", 5000) + " }}"), "nested"));
    CHECK(mentions(failure("{{ a" + repeated("|upper", 5000) + " }}"), "nested"));
    CHECK(mentions(failure(repeated("{% if 1 %}", 5000)), "levels of nesting"));
    CHECK(mentions(failure("{% set " + repeated("(", 5000) + "a" + repeated(")", 5000) + " = 1 %}"),
                   "levels of nesting"));
    CHECK(failure("{{ " + repeated("(", 60) + "1" + repeated(")", 60) + " }}").empty());
    CHECK(failure("{{ 1" + repeated(" + 1", 400) + " }}").empty());
}

TEST_CASE("every prefix of a template is parsed or refused") {
    const std::string text =
        "{%- macro m(a, b='x') -%}{{ a[1:-1]|map('upper')|join(\", \") }}{%- endmacro %}"
        "{# c #}{% for k, v in d.items() if v is not none %}{{ {'a': [k ~ 1.5e3]}.a }}"
        "{% else %}{% raw %}{{{% endraw %}{% endfor %}{% set ns.x | trim %}\\u00e9{% endset %}é"
        "{% with b = 1 %}{{ '\\U0001f600\\x41\\q' ~ 999999999999999999 }}{% endwith %}"
        "{% filter upper %}{{ m(1, b='{}%s' % x) }}{% endfilter %}"
        "{% generation %}{% call(x) m(1) %}{{ '{}%s' % x }}{% endcall %}{% endgeneration %}";
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const std::string message = failure(text.substr(0, length));
        CHECK((message.empty() || message.compare(0, 9, "template:") == 0));
    }
}

TEST_CASE("renderings that share work have it together, and each its own limit") {
    const auto chat = Template::create("{% for i in range(1000) %}{% set x = i %}{% endfor %}done");
    REQUIRE(chat);
    uint64_t work = 100'000'000;
    const uint64_t before = work;
    CHECK(chat->render({.variables = {}, .work_left = &work}).value() == "done");
    const uint64_t cost = before - work;
    CHECK(cost >= 1000 * step_work);
    work = cost + cost / 2;
    CHECK(chat->render({.variables = {}, .work_left = &work}));
    const auto second = chat->render({.variables = {}, .work_left = &work});
    REQUIRE(!second);
    CHECK(second.error().kind == ErrorKind::unsupported);
    CHECK(mentions(second.error().message, "work limit"));
    CHECK(work == 0);
    CHECK(chat->render({}).value() == "done"); // shares none
}
