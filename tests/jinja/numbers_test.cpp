// Integers of any size are printed and compared exactly, and refused in arithmetic.

#include "core/jinja/json.hpp"
#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::jinja;

namespace {

std::string rendered(const std::string& text) {
    const Input input = {
        .variables = {
            {"big", from_json("18446744073709551615").value()},
            {"huge", from_json("1000000000000000000000000000000").value()},
            {"low", from_json("-18446744073709551616").value()},
            {"call",
             from_json(R"({"id": 123456789012345678901234567890, "n": [1, -9223372036854775809]})").value()},
        }};
    const auto chat = Template::create(text);
    if (!chat)
        return "error: " + chat.error().message;
    const auto result = chat->render(input);
    return result ? *result : "error: " + result.error().message;
}

} // namespace

TEST_CASE("integers beyond 64 bits round-trip through JSON") {
    CHECK(rendered("{{ big }} {{ huge }} {{ low }}") ==
          "18446744073709551615 1000000000000000000000000000000 -18446744073709551616");
    CHECK(rendered("{{ call|tojson }}") ==
          R"({"id": 123456789012345678901234567890, "n": [1, -9223372036854775809]})");
    CHECK(rendered("{{ call }}{{ [big]|tojson(indent=1) }}{{ {big: 1}|tojson }}") ==
          "{'id': 123456789012345678901234567890, 'n': [1, -9223372036854775809]}"
          "[\n 18446744073709551615\n]{\"18446744073709551615\": 1}");
    CHECK(rendered("{{ '%d|%s|%d' % (big, low, huge) }}{{ ' {}|{}'.format(big, low) }}") ==
          "18446744073709551615|-18446744073709551616|1000000000000000000000000000000"
          " 18446744073709551615|-18446744073709551616");
    CHECK(rendered(R"({{ '[123456789012345678901234567890]'|from_json }})") ==
          "[123456789012345678901234567890]");
    CHECK(rendered("{{ 9223372036854775807 }} {{ -9223372036854775808 }} {{ 9223372036854775808 }}") ==
          "9223372036854775807 -9223372036854775808 9223372036854775808");
}

TEST_CASE("integers beyond 64 bits compare exactly, with floats too") {
    CHECK(rendered("{{ big > 5 and 5 < big and low < big and huge > big and low < -5 }}") == "True");
    CHECK(rendered("{{ [huge, 1, low, big, 2.5]|sort }}") ==
          "[-18446744073709551616, 1, 2.5, 18446744073709551615, 1000000000000000000000000000000]");
    CHECK(rendered("{{ big == 18446744073709551615 }} {{ big == 18446744073709551616.0 }} {{ huge == 1e30 }} "
                   "{{ 1000000000000000019884624838656 == 1e30 }} {{ low == -18446744073709551616.0 }}") ==
          "True False False True True");
    CHECK(rendered("{{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }} "
                   "{{ 9223372036854775807 < 9223372036854775808.0 }} {{ 3 > 2.5 }} {{ -3 < -2.5 }}") ==
          "False True True True True");
    CHECK(rendered(
              "{{ {big: 'x'}[18446744073709551615] }} {{ big in [1, big] }} {{ [big, big]|unique|list }}") ==
          "x True [18446744073709551615]");
    CHECK(rendered("{{ huge < 1e308 * 10 }} {{ low > -1e308 * 10 }} {{ big == big * 1.0 }}") ==
          "True True False");
}

TEST_CASE("integers beyond 64 bits are numbers to filters, tests and slices") {
    CHECK(rendered("{{ big is number }} {{ big is integer }} {{ big is float }} {{ big is boolean }}") ==
          "True True False False");
    CHECK(rendered("{{ -big }} {{ +big }} {{ -low }} {{ big|int }} {{ huge|float }}") ==
          "-18446744073709551615 18446744073709551615 18446744073709551616 18446744073709551615 1e+30");
    CHECK(rendered("{{ -(-9223372036854775808) }} {{ -9223372036854775808 }}") ==
          "9223372036854775808 -9223372036854775808");
    CHECK(rendered(
              "{{ '18446744073709551616'|int }} {{ '0xffffffffffffffffff'|int(base=16) }} {{ 1e20|int }}") ==
          "18446744073709551616 4722366482869645213695 100000000000000000000");
    CHECK(rendered(
              "{{ 0xffffffffffffffffffff }} {{ 0o7777777777777777777777777777 }} {{ 1_0000000000_0000000000 "
              "}}") == "1208925819614629174706175 19342813113834066795298815 100000000000000000000");
    CHECK(rendered("{{ 'abc'[:big] }} {{ 'abc'[big:] }} {{ [1, 2][low:] }} {{ [1][big] is defined }}") ==
          "abc  [1, 2] False");
    CHECK(rendered("{{ big / 2.0 }} {{ big * 1.5 }}") == "9.223372036854776e+18 2.7670116110564327e+19");
}

TEST_CASE("arithmetic beyond 64 bits is an error with its position") {
    const std::string overflow = "OverflowError: templates cannot compute integers of more than 64 bits";
    for (const char* expression :
         {"9223372036854775807 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 2", "2 ** 63",
          "10 ** 30", "big + 1", "big - big", "big * 2", "big // 3", "big % 3", "1 / big", "big ** 2"}) {
        CAPTURE(expression);
        CHECK(rendered("a\n{{ 1 if " + std::string(expression) + " }}") ==
              "error: template: line 2, column 9: " + overflow);
    }
    CHECK(rendered("{{ 'a' * big }}").find("OverflowError: cannot fit 'int' into an index-sized integer") !=
          std::string::npos);
    CHECK(rendered("{{ range(big) }}").find("OverflowError") != std::string::npos);
    CHECK(rendered("{{ 1.5 * 1" + std::string(400, '0') + " }}").find("int too large to convert to float") !=
          std::string::npos);
}
