// The filter `fromjson`, or `from_json`: values from JSON text.

#include "core/jinja/template.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

using namespace etna;
using namespace etna::jinja;

namespace {

std::string rendered_with_json(const std::string& text, const std::string& json) {
    const auto chat = Template::create(text);
    REQUIRE(chat.has_value());
    const auto result = chat->render({.variables = {{"text", json}}});
    return result ? *result : result.error().message;
}

} // namespace

TEST_CASE("fromjson parses JSON text into values") {
    constexpr std::pair<const char*, const char*> cases[] = {
        {R"( {"b": [1, -2.50, 1E3, true, false, null], "a": {}} )",
         "{'b': [1, -2.5, 1000.0, True, False, None], 'a': {}}"},
        {R"("\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t")", "é😀\"\\/\b\f\n\r\t"},
        {"[0, -0.0, 1e-400, 12345678901234567890123]", "[0, -0.0, 0.0, 12345678901234567890123]"},
        {"\"\x7F\"", "\x7F"},
    };
    for (const auto& [json, expected] : cases) {
        CAPTURE(json);
        CHECK(rendered_with_json("{{ text|fromjson }}", json) == expected);
        CHECK(rendered_with_json("{{ text|from_json }}", json) == expected);
    }
    CHECK(rendered_with_json(
              "{% for name, value in (text|fromjson).items() %}{{ name }}={{ value }};{% endfor %}",
              R"({"city": "Oslo", "days": 3})") == "city=Oslo;days=3;");
    CHECK(rendered_with_json("{{ (text|fromjson)|tojson }}", R"({"a":[1,"é"]})") == R"({"a": [1, "é"]})");
}

TEST_CASE("fromjson refuses text that is not JSON, and values that are not strings") {
    for (const char* const json :
         {"", "nul", "[", "[1,]", "{'a':1}", R"("abc)", "\"a\nb\"", R"("\ud83dx")", "01", "1 2"}) {
        CAPTURE(json);
        CHECK(rendered_with_json("{{ text|fromjson }}", json).find("JSONDecodeError: ") != std::string::npos);
    }
    CHECK(rendered_with_json("{{ text|fromjson }}", std::string(100'000, '[')).find("levels of nesting") !=
          std::string::npos);
    CHECK(rendered_with_json("{{ 1|fromjson }}", "")
              .find("TypeError: the JSON object must be str, bytes or bytearray, not int") !=
          std::string::npos);
}
