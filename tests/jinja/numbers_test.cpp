// Integers of any size in JSON are printed exactly; templates cannot compute with more than 64 bits.

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
    CHECK(rendered("{{ call }}{{ [big]|tojson(indent=1) }}") ==
          "{'id': 123456789012345678901234567890, 'n': [1, -9223372036854775809]}"
          "[\n 18446744073709551615\n]");
    CHECK(rendered("{{ '%d|%s|%d' % (big, low, huge) }}{{ ' {}|{}'.format(big, low) }}{{ big ~ '|' }}") ==
          "18446744073709551615|-18446744073709551616|1000000000000000000000000000000"
          " 18446744073709551615|-1844674407370955161618446744073709551615|");
    CHECK(rendered(R"({{ '[123456789012345678901234567890]'|from_json }})") ==
          "[123456789012345678901234567890]");
}

TEST_CASE("integers beyond 64 bits are numbers to filters and tests") {
    CHECK(rendered("{{ big is number }} {{ big is integer }} {{ big is float }} {{ big is boolean }}") ==
          "True True False False");
    CHECK(rendered("{{ +big }} {{ big|int }} {{ big|string }} {{ 1 if low }} {{ [1][big] is defined }}") ==
          "18446744073709551615 18446744073709551615 18446744073709551615 1 False");
    CHECK(rendered("{{ big == big }} {{ big == low }} {{ big != 1 }} {{ 'a' == big }} {{ big in [1, big] }} "
                   "{{ big == true }}") == "True False True False True False");
}

TEST_CASE("integers compare exactly with floats") {
    CHECK(rendered("{{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740993 > 9007199254740992.0 }} "
                   "{{ 9223372036854775807 < 9223372036854775808.0 }} {{ 3 > 2.5 }} {{ -3 < -2.5 }}") ==
          "False True True True True");
    CHECK(rendered("{{ 1 < 1e308 * 10 }} {{ 1 > -1e308 * 10 }} {{ 3 == 3.0 }}") == "True True True");
}

TEST_CASE("arithmetic beyond 64 bits is an error with its position") {
    const std::string overflow = "OverflowError: templates cannot compute integers of more than 64 bits";
    for (const char* expression : {"9223372036854775807 + 1",
                                   "-9223372036854775807 - 2",
                                   "9223372036854775807 * 2",
                                   "-(-9223372036854775807 - 1)",
                                   "(-9223372036854775807 - 1) // -1",
                                   "big + 1",
                                   "big - big",
                                   "big * 2",
                                   "big * 1.5",
                                   "big // 3",
                                   "big % 3",
                                   "1 / big",
                                   "big / 2.0",
                                   "-big",
                                   "big > 5",
                                   "5 < low",
                                   "big == 1.0",
                                   "1e30 == huge",
                                   "[huge, 1, low]|sort",
                                   "[1, big]|max",
                                   "'18446744073709551616'|int",
                                   "'-9223372036854775809'|int",
                                   "1e20|int",
                                   "'1e20'|int",
                                   "'%d' % 1e20"}) {
        CAPTURE(expression);
        const std::string text = rendered("a\n{{ 1 if " + std::string(expression) + " }}");
        CHECK(text.find("error: template: line 2, column ") == 0);
        CHECK(text.find(": " + overflow) != std::string::npos);
    }
    CHECK(rendered("{{ -9223372036854775807 - 1 }} {{ (-9223372036854775807 - 1) % -1 }}") ==
          "-9223372036854775808 0");
}

TEST_CASE("integers beyond 64 bits are no keys, counts or indices") {
    for (const char* expression : {"{big: 1}", "{}[big]|string ~ {}.get(big)", "[big]|unique"})
        CHECK(rendered("{{ " + std::string(expression) + " }}").find("TypeError: unhashable type: 'int'") !=
              std::string::npos);
    CHECK(rendered("{{ 'a' * big }}").find("TypeError: can't multiply sequence") != std::string::npos);
    CHECK(rendered("{{ range(big) }}").find("OverflowError") != std::string::npos);
    CHECK(rendered("{{ 'abc'[:big] }}").find("TypeError: slice indices must be integers") !=
          std::string::npos);
    CHECK(rendered("{{ 18446744073709551615 }}").find("the number '18446744073709551615' is not supported") !=
          std::string::npos);
}
