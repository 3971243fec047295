// The filter `fromjson`: what Python's json.loads() makes of a text, and how it refuses one (CPython 3.11).

#include "core/chat/jinja/template.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

using namespace etna;
using namespace etna::chat::jinja;

namespace {

std::string rendered(const std::string& text, const std::string& json) {
    const auto chat = Template::create(text);
    REQUIRE(chat.has_value());
    const auto result = chat->render({.variables = {{"text", json}}});
    return result ? *result : result.error().message;
}

} // namespace

TEST_CASE("fromjson makes of a text what Python's json.loads does") {
    constexpr std::pair<const char*, const char*> cases[] = {
        {R"( {"b": [1, -2.50, 1E3, true, false, null], "a": {}} )",
         "{'b': [1, -2.5, 1000.0, True, False, None], 'a': {}}"},
        {R"({"a": 1, "b": 2, "a": 3})", "{'a': 3, 'b': 2}"},
        {R"("\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t")", "é😀\"\\/\b\f\n\r\t"},
        {"[NaN, Infinity, -Infinity, 1e400, -1e400, 1e-400]", "[nan, inf, -inf, inf, -inf, 0.0]"},
        {"[0, -0, -0.0, 12345678901234567890123]", "[0, 0, -0.0, 12345678901234567890123]"},
        {R"(["\ud83dx", "\ude00"])", "['\xEF\xBF\xBDx', '\xEF\xBF\xBD']"},
        {"\"\x7F\"", "\x7F"},
    };
    for (const auto& [json, expected] : cases) {
        CAPTURE(json);
        CHECK(rendered("{{ text|fromjson }}", json) == expected);
        CHECK(rendered("{{ text|from_json }}", json) == expected);
    }
    CHECK(rendered("{% for name, value in (text|fromjson).items() %}{{ name }}={{ value }};{% endfor %}",
                   R"({"city": "Oslo", "days": 3})") == "city=Oslo;days=3;");
    CHECK(rendered("{{ (text|fromjson)|tojson }}", R"({"a":[1,"é"]})") == R"({"a": [1, "é"]})");
}

TEST_CASE("fromjson refuses what json.loads refuses, in its words") {
    constexpr std::pair<const char*, const char*> cases[] = {
        {"", "Expecting value: line 1 column 1 (char 0)"},
        {" ", "Expecting value: line 1 column 2 (char 1)"},
        {"nul", "Expecting value: line 1 column 1 (char 0)"},
        {"[", "Expecting value: line 1 column 2 (char 1)"},
        {"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
        {"[1", "Expecting ',' delimiter: line 1 column 3 (char 2)"},
        {"[1,]", "Expecting value: line 1 column 4 (char 3)"},
        {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
        {R"({"a")", "Expecting ':' delimiter: line 1 column 5 (char 4)"},
        {R"({"a":)", "Expecting value: line 1 column 6 (char 5)"},
        {R"({"a":1)", "Expecting ',' delimiter: line 1 column 7 (char 6)"},
        {R"({"a":1,})", "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
        {"{'a':1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
        {R"("abc)", "Unterminated string starting at: line 1 column 1 (char 0)"},
        {"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
        {R"("a\x")", "Invalid \\escape: line 1 column 3 (char 2)"},
        {R"("a\)", "Unterminated string starting at: line 1 column 1 (char 0)"},
        {R"("\u12g4")", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
        {R"("\u1234)", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
        {"01", "Extra data: line 1 column 2 (char 1)"},
        {"-", "Expecting value: line 1 column 1 (char 0)"},
        {"1.", "Extra data: line 1 column 2 (char 1)"},
        {"1e", "Extra data: line 1 column 2 (char 1)"},
        {"1 2", "Extra data: line 1 column 3 (char 2)"},
        {"\xEF\xBB\xBF"
         "1",
         "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)"},
        {"[\n 1,\n é\n]", "Expecting value: line 3 column 2 (char 7)"},
        {R"("éé" x)", "Extra data: line 1 column 6 (char 5)"},
    };
    for (const auto& [json, expected] : cases) {
        CAPTURE(json);
        const std::string message = rendered("{{ text|fromjson }}", json);
        CAPTURE(message);
        CHECK(message.find(std::string("JSONDecodeError: ") + expected) != std::string::npos);
    }
    CHECK(rendered("{{ 1|fromjson }}", "")
              .find("TypeError: the JSON object must be str, bytes or bytearray, not int") !=
          std::string::npos);
    CHECK(rendered("{{ {}|fromjson }}", "").find("not dict") != std::string::npos);
    CHECK(rendered("{{ text|fromjson }}", std::string(100'000, '[')).find("RecursionError") !=
          std::string::npos);
    CHECK(rendered("{{ text|fromjson }}", std::string(5000, '1')).find("Exceeds the limit (4300 digits)") !=
          std::string::npos);
}
