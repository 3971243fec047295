// The keywords that lenient JSON Schemas drop, and how they are reported.

#include "core/grammar/grammar_cache.hpp"
#include "core/grammar/schema/document.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

TEST_CASE("a lenient schema reports each keyword that it drops once, by its pointer") {
    using Pointers = std::vector<std::string>;
    const auto dropped = [](std::string_view schema, const Writing& writing = {}) {
        Language language;
        Pointers all;
        REQUIRE(json_schema(language, schema, {.is_lenient = true, .writing = writing}, &all));
        return all;
    };
    CHECK(dropped(R"({"properties": {"a": {"type": "string", "format": "email", "minLength": 6}}})") ==
          Pointers{});
    CHECK(dropped(R"({"type": "array", "items": {"type": "array"}, "uniqueItems": true})") ==
          Pointers{"#/uniqueItems"});
    CHECK(dropped(R"({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
              "a": {"type": "string", "pattern": "(?=a)."}, "b": {"type": "string", "format": "regex"}}})") ==
          Pointers{"#/properties/a/pattern", "#/properties/b/format"});
    // The same text in two descriptions is compiled once and reported twice.
    CHECK(dropped(R"({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
              "a": {"type": "string", "format": "regex"}, "b": {"type": "string", "format": "regex"}}})")
              .size() == 2);
    CHECK(dropped(R"({"type": "object", "minProperties": 3})") == Pointers{"#/minProperties"});
    CHECK(dropped(R"({"type": "string", "$dynamicRef": "#a"})") == Pointers{"#/$dynamicRef"});
    CHECK(dropped(R"({"type": "string", "x-etna-lark": "start: /(?=a)b/"})") == Pointers{"#/x-etna-lark"});
    CHECK(dropped(R"({"type": "object", "propertyNames": {"x-etna-lark": "start: \"a\""}})") ==
          Pointers{"#/propertyNames/x-etna-lark"});
    std::string many = R"({"type": "object", "properties": {)";
    for (int i = 0; i < 100; ++i)
        many += fmt::format(R"("{}{}": {{"type": "string", "format": "regex"}}, )", i, std::string(500, 'x'));
    const Pointers bounded = dropped(many + R"("z": {}}})");
    CHECK(bounded.size() == DroppedKeywords::remembered_max);
    CHECK(bounded.front().size() == DroppedKeywords::pointer_bytes_max);
}

TEST_CASE(
    "a grammar reports the keywords that its schemas drop, with the schema's path, also if it is cached") {
    GrammarCache grammars(Vocabulary({"a", "[", "]"}));
    const Description schema = {.text =
                                    R"({"type": "array", "items": {"type": "array"}, "uniqueItems": true})",
                                .is_lenient = true,
                                .place = "guided_json"};
    const std::vector<DroppedKeyword> expected = {{.place = "guided_json", .pointer = "#/uniqueItems"}};
    for (int i = 0; i < 2; ++i) {
        const auto grammar = grammars.make(schema);
        REQUIRE(grammar);
        CHECK(dropped_keywords(**grammar) == expected);
    }
    const auto both = grammars.make({.notation = Notation::sequence, .parts = {schema, schema}});
    REQUIRE(both);
    CHECK(dropped_keywords(**both) == expected);
}
