// JSON Schemas as languages: the notation of texts, and the errors of refused schemas.

#include "core/grammar/description.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/formats.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "tests/support/catch.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;

namespace {

/// A schema, ready to be asked.
class Schema {
public:
    explicit Schema(std::string_view schema, const JsonSchemaOptions& options = {})
        : root_(json_schema(language_, schema, options).value()) {}

    bool fits(std::string_view text) { return language_.is_nullable(language_.next(root_, text)); }
    bool begins(std::string_view text) { return language_.next(root_, text) != nothing; }

private:
    Language language_;
    Expression root_;
};

Error error_of(std::string_view schema, const JsonSchemaOptions& options = {}) {
    Language language;
    return json_schema(language, schema, options).error();
}

} // namespace

TEST_CASE("members follow the schema's order, with unlisted ones last") {
    Schema schema(R"({"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "null"}},
                      "required": ["a", "z"]})");
    CHECK(schema.fits(R"({"b":1,"a":null,"z":[]})"));
    CHECK(schema.fits(R"({"a":null,"z":1,"y":2,"x":3})"));
    CHECK_FALSE(schema.fits(R"({"a":null,"b":1,"z":1})"));
    CHECK_FALSE(schema.fits(R"({"a":null,"y":1,"z":1})"));
    CHECK_FALSE(schema.fits(R"({"b":1,"z":1})"));
    CHECK_FALSE(schema.fits(R"({"b":1,"b":1,"a":null,"z":1})"));
    CHECK_FALSE(schema.begins(R"({"a":null,"z":1,"b")"));
}

TEST_CASE("white space is at most one space or newline, unless any is allowed") {
    const std::string schema =
        R"({"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"],
                                  "additionalProperties": false})";
    Schema any(schema, {.spacing = JsonSpacing::any});
    CHECK(any.fits(R"({"a": [1, 2]})"));
    CHECK(any.fits("{\n  \"a\": [\n    1,\n    2\n  ]\n}"));
    CHECK(any.fits(R"({ "a":[ ] })"));
    CHECK_FALSE(any.begins(R"({"a" )"));
    CHECK_FALSE(any.begins("{   "));
    CHECK(any.begins("{\n" + std::string(json_indentation_max, ' ')));
    CHECK_FALSE(any.begins("{\n" + std::string(json_indentation_max + 1, ' ')));
    CHECK_FALSE(any.begins(R"( {"a")"));
    Schema single(schema);
    CHECK(single.fits(R"({"a": [1, 2]})"));
    CHECK(single.fits("{\n\"a\": [\n1,\n2\n]\n}"));
    CHECK(single.fits(R"({ "a":[ ] })"));
    for (const char* two : {"{  ", "{\n ", "{\n\n", "{ \n", "{\t", R"({"a":  )", "{\"a\": [ \n",
                            R"({"a": [1,  )", R"({"a": [1  )", R"({"a": []  )", " ", "\n"})
        CHECK_FALSE(single.begins(two));
    Schema open(
        R"({"type": "object", "properties": {"a": {"type": "array", "maxItems": 2, "uniqueItems": true,
                    "items": {"enum": [1, 2]}}, "b": {"type": "array", "contains": {"const": 3},
                    "minContains": 0, "maxContains": 1}}})");
    for (const char* one : {"{ }", "{\n}", R"({"a": [ ], "b": [ ] })", R"({"a": [ 1, 2 ], "b": [ 3 ]})"})
        CHECK(open.fits(one));
    for (const char* two :
         {"{  ", "{ \n", R"({"a": [  )", R"({"b": [  )", R"({"a": [1  )", R"({"b": [3  )", R"({"a": [1]  )"})
        CHECK_FALSE(open.begins(two));
    Schema none(schema, {.spacing = JsonSpacing::none});
    CHECK(none.fits(R"({"a":[1,2]})"));
    CHECK_FALSE(none.begins(R"({"a": )"));
}

TEST_CASE("a value has one notation") {
    Schema schema(R"({"enum": ["a\"\u00e9\u0007", 1.50, {"k": [true, null]}, -0.0]})");
    CHECK(schema.fits("\"a\\\"\u00e9\\u0007\""));
    CHECK_FALSE(schema.begins("\"a\\\"\\u00e9"));
    CHECK(schema.fits("1.5"));
    CHECK_FALSE(schema.fits("1.50"));
    CHECK(schema.fits(R"({"k":[true,null]})"));
    CHECK(schema.fits("0"));
    CHECK_FALSE(schema.begins("-"));
    CHECK_FALSE(schema.fits(R"({"k":[true,null],"l":1})"));
}

TEST_CASE("a schema can be recursive") {
    Schema tree(R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["value"],
        "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "additionalProperties": false}}})");
    CHECK(tree.fits(R"({"value":1,"next":{"value":2,"next":{"value":3,"next":null}}})"));
    CHECK_FALSE(tree.fits(R"({"value":1,"next":{"value":"2"}})"));
    CHECK(error_of(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})").message ==
          "no text fits the grammar");
}

TEST_CASE("alternatives are joined with the keywords next to them") {
    Schema schema(
        R"({"properties": {"kind": {"type": "string"}, "size": {"minimum": 1}}, "required": ["kind"],
        "oneOf": [{"properties": {"kind": {"const": "cycle"}, "radius": {"type": "number"}}, "required": ["radius"]},
                  {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["side"]}],
        "type": "object"})");
    CHECK(schema.fits(R"({"kind":"cycle","size":2,"radius":1})"));
    CHECK(schema.fits(R"({"kind":"square","side":1.5})"));
    CHECK_FALSE(schema.fits(R"({"kind":"cycle","side":1})"));
    CHECK_FALSE(schema.fits(R"({"kind":"cycle","size":0,"radius":1})"));
    CHECK_FALSE(schema.fits(R"({"kind":"triangle","side":1})"));
}

TEST_CASE("oneOf excludes values that match two of its schemas") {
    Schema schema(R"({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})");
    CHECK(schema.fits(R"({"a":1})"));
    CHECK(schema.fits(R"({"b":1})"));
    CHECK_FALSE(schema.fits(R"({"a":1,"b":1})"));
    CHECK_FALSE(schema.fits(R"({"c":1})"));
}

TEST_CASE("strings satisfy patterns, lengths and formats together") {
    Schema schema(
        R"({"type": "string", "pattern": "^[a-z]+-", "minLength": 4, "maxLength": 6, "not": {"pattern": "xx"}})");
    CHECK(schema.fits(R"("abc-")"));
    CHECK(schema.fits(R"("a-\"\n")"));
    CHECK_FALSE(schema.fits(R"("abc")"));
    CHECK_FALSE(schema.fits(R"("a-xxb")"));
    CHECK_FALSE(schema.begins(R"("a-bcdef)"));
    Schema date(R"({"type": "string", "format": "date", "pattern": "^20"})");
    CHECK(date.fits(R"("2024-02-29")"));
    CHECK_FALSE(date.fits(R"("2023-02-29")"));
    CHECK_FALSE(date.begins(R"("19)"));
}

TEST_CASE("a length is enforced together with a format or a pattern") {
    const auto text = [](std::string_view content) { return fmt::format("\"{}\"", content); };
    const std::string letters(200, 'a');
    Schema email(R"({"type": "string", "format": "email", "maxLength": 64})");
    CHECK(email.fits(text(letters.substr(0, 58) + "@bc.de")));
    CHECK_FALSE(email.fits(text(letters.substr(0, 59) + "@bc.de")));
    CHECK(email.begins("\"" + letters.substr(0, 62) + "@"));
    CHECK_FALSE(email.begins("\"" + letters.substr(0, 63) + "@")); // nothing could follow
    CHECK_FALSE(email.begins("\"" + letters.substr(0, 63)));
    Schema time(R"({"type": "string", "format": "date-time", "maxLength": 30})");
    CHECK(time.fits(text("2024-02-29T23:59:60.123456789Z")));
    CHECK(time.begins("\"2024-02-29T23:59:60.123456789"));
    CHECK_FALSE(time.begins("\"2024-02-29T23:59:60.1234567890"));
    CHECK(time.fits(text("2024-02-29T12:00:00.1234+02:00")));
    CHECK_FALSE(time.begins("\"2024-02-29T12:00:00.12345+"));
    Schema uri(R"({"type": "string", "format": "uri", "maxLength": 200})");
    CHECK(uri.fits(text("http://" + letters.substr(7))));
    CHECK_FALSE(uri.begins("\"http://" + letters.substr(6)));
    Schema host(R"({"type": "string", "format": "hostname", "maxLength": 64})");
    CHECK(host.fits(text(letters.substr(0, 60) + ".abc")));
    CHECK_FALSE(host.begins("\"" + letters.substr(0, 60) + ".abcd"));
    Schema uuid(R"({"type": "string", "format": "uuid", "maxLength": 2048})");
    CHECK(uuid.fits(text("12345678-1234-1234-1234-123456789abc")));
    CHECK(error_of(R"({"type": "string", "format": "uuid", "maxLength": 35})").message ==
          "no text fits the grammar");
    Schema code(
        R"({"type": "string", "pattern": "^[a-zA-Z0-9_./ \\-]+$", "minLength": 3, "maxLength": 1000})");
    CHECK(code.fits(text("a/b")));
    CHECK_FALSE(code.fits(text("ab")));
    CHECK(code.begins("\"" + std::string(1000, 'x')));
    CHECK_FALSE(code.begins("\"" + std::string(1001, 'x')));
}

TEST_CASE("lengths count characters, not the bytes or escapes that encode them") {
    Schema schema(R"({"type": "string", "pattern": "^[^a]*$", "minLength": 4, "maxLength": 4})");
    CHECK(schema.fits("\"\xF0\x9F\x98\x80\xC3\xA9\\n\\u0007\""));
    CHECK_FALSE(schema.fits("\"\xF0\x9F\x98\x80\xC3\xA9\\n\""));
    CHECK_FALSE(schema.begins("\"\xF0\x9F\x98\x80\xC3\xA9\\n\\u0007\\"));
    CHECK(schema.fits(R"("\\\"n.")"));
    CHECK_FALSE(schema.fits(R"("\\\".")"));
}

TEST_CASE("a pattern that is too large together with a length is named by its pointer") {
    const Error error = error_of(
        R"({"items": {"type": "string", "pattern": "^(a|b)*a(a|b){30}$", "maxLength": 50}, "type": "array"})");
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message.find("#/items/pattern: ") == 0);
}

TEST_CASE("formats that JSON Schema does not define are ignored") {
    for (const std::string_view format : {"path", "topic", "password", "url", "colour", "double"}) {
        CHECK(Schema(fmt::format(R"({{"type": "string", "format": "{}", "maxLength": 3}})", format))
                  .fits(R"("? !")"));
        CHECK(error_of(fmt::format(R"({{"not": {{"format": "{}"}}}})", format)).message ==
              "no text fits the grammar");
    }
}

TEST_CASE("names match patterns, which select their schemas") {
    Schema schema(
        R"({"type": "object", "patternProperties": {"^n_": {"type": "number"}, "_s$": {"type": "string"}},
        "properties": {"n_fixed": {"maximum": 5}}, "additionalProperties": false})");
    CHECK(schema.fits(R"({"n_fixed":3,"n_a":1,"b_s":"x"})"));
    CHECK_FALSE(schema.fits(R"({"n_fixed":6})"));
    CHECK_FALSE(schema.fits(R"({"n_fixed":"3"})"));
    CHECK_FALSE(schema.begins(R"({"other")"));
    CHECK_FALSE(schema.begins(R"({"n_s":)")); // a number and a string at once
}

TEST_CASE("a keyword that cannot be enforced is an error with its pointer") {
    const Error unique = error_of(R"({"properties": {"a/b": {"type": "array", "uniqueItems": true}}})");
    CHECK(unique.kind == ErrorKind::unsupported);
    CHECK(unique.message.find("#/properties/a~1b/uniqueItems") == 0);
    CHECK(unique.hint.find("lenient") != std::string::npos);
    CHECK(error_of(R"({"items": {"pattern": "(?=a)b"}})").message.find("#/items/pattern") == 0);
    CHECK(error_of(R"({"type": "string", "format": "regex"})").message.find("#/format") == 0);
    CHECK(error_of(R"({"allOf": [{"multipleOf": 0.000000123457}]})")
              .message.find("#/allOf/0/multipleOf: the divisor") == 0);
    CHECK(error_of(R"({"$ref": "http://example.com/other.json"})").kind == ErrorKind::unsupported);
    CHECK(error_of(R"({"$dynamicRef": "#a"})").message.find("#/$dynamicRef") == 0);
    const char* const two_lists = R"({"items": [{"type": "integer"}], "prefixItems": [{"type": "string"}]})";
    CHECK(error_of(two_lists).kind == ErrorKind::unsupported);
    CHECK(error_of(two_lists).message.find("#/prefixItems: is used with a list of `items`") == 0);
    CHECK(error_of(R"({"not": {"items": [{}], "prefixItems": [{}]}})").message.find("#/not/prefixItems") ==
          0);
    CHECK(error_of(R"({"minProperties": 2})").message.find("minProperties") != std::string::npos);
    CHECK(error_of(R"({"$defs": {"a": {"patternProperties": {"\\p{L}": {}}}}, "$ref": "#/$defs/a"})")
              .message.find("#/$defs/a/patternProperties") == 0);
}

TEST_CASE("an invalid keyword is an error with its pointer") {
    CHECK(error_of(R"({"type": "dict"})").message == "#/type: unknown type \"dict\"; the types are null, "
                                                     "boolean, integer, number, string, array, object");
    CHECK(error_of(R"({"properties": [1]})").message.find("#/properties") == 0);
    CHECK(error_of(R"({"required": "a"})").message.find("#/required") == 0);
    CHECK(error_of(R"({"minLength": -1})").message.find("#/minLength") == 0);
    CHECK(error_of(R"({"anyOf": []})").message.find("#/anyOf") == 0);
    CHECK(error_of(R"({"properties": {"a": 1}, "required": ["a"]})").message.find("#/properties/a") == 0);
    CHECK(error_of(R"({"$ref": "#/$defs/a"})").message.find("#/$ref") == 0);
    CHECK(error_of(R"({"pattern": "("})").kind == ErrorKind::invalid_argument);
    CHECK(error_of(R"({"a": 1, "a": 2})").message.find("\"a\" twice") != std::string::npos);
    CHECK(error_of("nonsense").kind == ErrorKind::invalid_argument);
    CHECK(error_of("{\"a\":").kind == ErrorKind::invalid_argument);
}

TEST_CASE("a schema that negates itself is refused, and one that refers to itself is ignored") {
    for (const std::string_view schema :
         {R"({"not": {"$ref": "#"}})", R"({"oneOf": [{"$ref": "#"}, {"const": 1}]})",
          R"({"if": {"$ref": "#"}, "then": {"type": "string"}, "else": {"type": "null"}})",
          R"({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/b"}},
              "b": {"allOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}}})",
          R"({"allOf": [{"$ref": "#/$defs/a"}, {"not": {"$ref": "#/$defs/b"}}], "$defs": {
              "a": {"anyOf": [{"not": {"$ref": "#/$defs/b"}}, {"type": "null"}]},
              "b": {"allOf": [{"not": {"$ref": "#/$defs/a"}}, {"type": "string"}]}}})",
          R"({"properties": {"a": {"not": {"$ref": "#/properties/a"}}}})"}) {
        INFO(schema);
        const Error error = error_of(schema);
        CHECK(error.kind == ErrorKind::unsupported);
        CHECK(error.message.find("#") == 0);
        CHECK(error.message.find("its own opposite") != std::string::npos);
        CHECK_FALSE(error.hint.empty());
    }
    CHECK(Schema(R"({"$ref": "#"})").fits("[1]"));
    CHECK(Schema(R"({"allOf": [{"$ref": "#"}, {"type": "null"}]})").fits("null"));
    Schema below(R"({"type": ["object", "null"], "properties": {"a": {"not": {"$ref": "#"}}}})");
    CHECK(below.fits(R"({"a":1})"));
    CHECK(below.fits(R"({"a":{"a":null}})"));
    CHECK_FALSE(below.fits(R"({"a":null})"));
}

TEST_CASE("formats of integers bound numbers only") {
    Schema int32(R"({"format": "int32"})");
    CHECK(int32.fits("2147483647"));
    CHECK(int32.fits("-2147483648"));
    CHECK_FALSE(int32.fits("2147483648"));
    CHECK_FALSE(int32.fits("-2147483649"));
    CHECK_FALSE(int32.begins("0.5"));
    CHECK(int32.fits(R"("0.5")"));
    CHECK(int32.fits("null"));
    Schema int64(R"({"type": "integer", "format": "int64"})");
    CHECK(int64.fits("9223372036854775807"));
    CHECK(int64.fits("-9223372036854775808"));
    CHECK_FALSE(int64.begins("9223372036854775808"));
    Schema uint32(R"({"type": "number", "format": "uint32", "minimum": -5})");
    CHECK(uint32.fits("4294967295"));
    CHECK_FALSE(uint32.fits("4294967296"));
    CHECK_FALSE(uint32.fits("-1"));
    Schema uint64(R"({"type": "integer", "format": "uint64"})");
    CHECK(uint64.fits("18446744073709551615"));
    CHECK_FALSE(uint64.begins("18446744073709551616"));
    Schema others(R"({"type": "number", "not": {"format": "int32"}})");
    CHECK(others.fits("2147483648"));
    CHECK(others.fits("0.5"));
    CHECK_FALSE(others.fits("7"));
    CHECK(Schema(R"({"type": "number", "format": "float"})").fits("0.5"));
    CHECK(error_of(R"({"format": 32})").message.find("#/format") == 0);
}

TEST_CASE("items of a list with uniqueItems are distinct") {
    Schema strings(
        R"({"type": "array", "items": {"type": "string", "maxLength": 9}, "uniqueItems": true, "minItems": 2})");
    CHECK(strings.fits(R"(["a", "b", "ab", ""])"));
    CHECK_FALSE(strings.begins(R"(["a", "b", "a")"));
    CHECK(strings.begins(R"(["a", "b", "a)"));
    CHECK_FALSE(strings.fits(R"(["a"])"));
    CHECK_FALSE(strings.begins(R"(["a\n",")"
                               "a\\n\""));
    Schema kinds(
        R"({"type": "array", "items": {"enum": ["a", "ab", 1, 1.5, true, null]}, "uniqueItems": true})");
    CHECK(kinds.fits(R"([1.5,1,"ab","a",null,true])"));
    CHECK(kinds.fits("[]"));
    CHECK_FALSE(kinds.begins(R"(["ab",1,true,1])"));
    CHECK_FALSE(kinds.begins(R"(["ab",1,true,null,"a",1.5,)")); // nothing is left
    CHECK(error_of(R"({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true, "minItems": 3})")
              .message == "no text fits the grammar");
    Schema numbers(R"({"type": "array", "items": {"type": "number"}, "uniqueItems": true})");
    CHECK(numbers.fits("[1,10,1.5,-1,0]"));
    CHECK_FALSE(numbers.begins("[1,1,"));
    CHECK_FALSE(numbers.fits("[1,1.0]"));
    CHECK_FALSE(numbers.fits("[10,1e1]"));
    std::string many = "[0";
    for (int i = 1; i < 64; ++i)
        many += fmt::format(",{}", i);
    CHECK(numbers.fits(many + "]"));
    CHECK_FALSE(numbers.begins(many + ","));
    CHECK(error_of(
              R"({"properties": {"a": {"type": "array", "items": {"type": "object"}, "uniqueItems": true}}})")
              .message.find("#/properties/a/uniqueItems: ") == 0);
    CHECK(error_of(R"({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 65})")
              .message.find("#/uniqueItems: ") == 0);
}

TEST_CASE("lenient schemas drop only the keywords that cannot be enforced") {
    const JsonSchemaOptions lenient = {.is_lenient = true};
    Schema schema(R"({"type": "array", "uniqueItems": true, "items": {"type": "string", "format": "colour",
                      "pattern": "(?=a).", "maxLength": 2}})",
                  lenient);
    CHECK(schema.fits(R"(["b","c"])"));
    CHECK_FALSE(schema.fits(R"(["b","b"])"));
    CHECK_FALSE(schema.fits(R"(["abc"])"));
    Schema lists(R"({"type": "array", "uniqueItems": true, "maxItems": 2, "items": {"type": "array"}})",
                 lenient);
    CHECK(lists.fits("[[1],[1]]"));
    CHECK_FALSE(lists.fits("[[1],[1],[1]]"));
    CHECK_FALSE(schema.fits("[1]"));
    CHECK(error_of(R"({"type": "dict"})", lenient).kind == ErrorKind::invalid_argument);
    Schema two_lists(R"({"type": "array", "items": [{"const": 1}], "prefixItems": [{"const": 2}]})", lenient);
    CHECK(two_lists.fits("[3]"));
}

TEST_CASE("lenient schemas accept every text that strict ones accept") {
    const JsonSchemaOptions lenient = {.is_lenient = true};
    for (
        const std::string_view schema :
        {R"({"type": "object", "not": {"propertyNames": false}})",
         R"({"type": "object", "not": {"properties": {"b": {}}, "patternProperties": {"^c": {"type": "null"}}}})",
         R"({"type": "object", "oneOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": false}, {"propertyNames": {"maxLength": 2}, "required": ["b"]}]})",
         R"({"not": {"type": "array", "uniqueItems": true}})",
         R"({"if": {"propertyNames": {"const": "b"}}, "then": {"required": ["b"]}, "else": {"required": ["a"]}})"}) {
        INFO(schema);
        CHECK(Schema(schema, lenient).fits(R"({"a":1})"));
    }
    CHECK_FALSE(
        Schema(R"({"not": {"const": 1, "type": "integer"}, "uniqueItems": true})", lenient).fits("1"));
}

TEST_CASE("oneOf is equivalent with the type next to it and inside it") {
    const auto kind = [](std::string_view type, std::string_view name, std::string_view member) {
        return fmt::format(
            R"({{{}"properties": {{"kind": {{"const": "{}"}}, "{}": {{"type": "number"}}}}, "required": ["kind"],
                "additionalProperties": false}})",
            type, name, member);
    };
    const std::string inside =
        fmt::format(R"({{"oneOf": [{}, {}]}})", kind(R"("type": "object", )", "a", "x"),
                    kind(R"("type": "object", )", "b", "y"));
    const std::string alternatives =
        fmt::format(R"("oneOf": [{}, {}])", kind("", "a", "x"), kind("", "b", "y"));
    for (const std::string& schema :
         {inside, fmt::format(R"({{"type": "object", {}}})", alternatives),
          fmt::format(R"({{"allOf": [{{{}}}, {{"type": "object"}}]}})", alternatives),
          fmt::format(R"({{"$ref": "#/$defs/a", "type": "object", "$defs": {{"a": {{{}}}}}}})",
                      alternatives)}) {
        INFO(schema);
        Schema made(schema);
        CHECK(made.fits(R"({"kind":"a","x":1})"));
        CHECK(made.fits(R"({"kind":"b"})"));
        CHECK_FALSE(made.begins(R"({"kind":"a","y")"));
        CHECK_FALSE(made.begins("1"));
    }
    CHECK(error_of(fmt::format("{{{}}}", alternatives)).kind == ErrorKind::unsupported);
}

TEST_CASE("siblings of a reference are enforced in every draft") {
    for (const std::string_view draft : {"draft-04", "draft-06", "draft-07"}) {
        Schema schema(fmt::format(R"({{"$schema": "http://json-schema.org/{}/schema#",
            "definitions": {{"name": {{"type": "string"}}}}, "type": "object", "required": ["a"],
            "properties": {{"a": {{"$ref": "#/definitions/name", "maxLength": 3, "description": "d"}}}}}})",
                                  draft));
        CHECK(schema.fits(R"({"a":"abc"})"));
        CHECK_FALSE(schema.begins(R"({"a":"abcd)"));
        CHECK_FALSE(schema.begins(R"({"a":1)"));
    }
}

TEST_CASE("draft-07 ignores prefixItems") {
    Schema schema(R"({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
                      "items": [{"const": 1}], "prefixItems": [{"const": 2}]})");
    CHECK(schema.fits("[1]"));
    CHECK_FALSE(schema.fits("[2]"));
}

TEST_CASE("unknown keywords are ignored") {
    Schema schema(
        R"({"type": "object", "title": "T", "x-order": 3, "example": {}, "nullable": true, "properties":
        {"n": {"type": "integer", "format": "int32", "minimum": 0, "exclusiveMinimum": true}}, "strict": true})");
    CHECK(schema.fits("null"));
    CHECK(schema.fits(R"({"n":1})"));
    CHECK_FALSE(schema.fits(R"({"n":0})"));
}

TEST_CASE("repeated formats cost little") {
    for (const std::string_view format : {"date-time", "time", "email"}) {
        std::string members;
        for (int i = 0; i < 250; ++i)
            members += fmt::format(R"({}"k{}": {{"format": "{}"}})", i == 0 ? "" : ", ", i, format);
        Language language;
        constexpr uint64_t steps = 5'000'000;
        language.set_step_budget(steps, true);
        CAPTURE(format);
        CHECK(json_schema(language, R"({"properties": {)" + members + "}}", {}).has_value());
    }
}

TEST_CASE("automata of formats agree with their expressions") {
    for (const std::string_view format : {"date-time", "time"}) {
        Language language;
        const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
        const Expression texts =
            regex(language, *pattern_of_format(format), alphabet, MatchMode::full).value();
        const Automaton* const kept = automaton_of_format(format);
        REQUIRE(kept != nullptr);
        CHECK(*kept == language.automaton(texts).value());
        ByteSet letters;
        for (const char letter : characters_of_automata)
            letters.add(static_cast<uint8_t>(letter));
        const Automaton any = language.automaton(language.repeat(language.bytes(letters), 0)).value();
        CHECK(language.both(*kept, any).value() == *kept); // of those letters alone
    }
    CHECK(automaton_of_format("date") == nullptr);
    Schema schema(R"({"format": "time", "maxLength": 9})", {.writing = {.not_in_strings = {"Z"}}});
    CHECK(schema.fits(R"("23:59:60z")"));
    CHECK_FALSE(schema.begins(R"("23:59:60Z)"));
    CHECK_FALSE(schema.begins(R"("23:58:60)"));
    Schema without(R"({"format": "time"})", {.writing = {.not_in_strings = {"Z"}}});
    CHECK(without.fits(R"("23:59:60.5z")"));
    CHECK_FALSE(without.begins(R"("23:59:60.5Z)"));
}

TEST_CASE("a text that is too large is named by its keyword") {
    const auto keyword_of = [](const std::string& keyword, std::string_view value) {
        Language language;
        language.set_step_budget(10'000, true);
        const auto made =
            json_schema(language, fmt::format(R"({{"type": "string", {}: {}}})", keyword, value), {});
        return made ? std::string() : made.error().message;
    };
    CHECK(keyword_of(R"("format")", R"("iri-reference")").find("#/format: ") == 0);
    CHECK(keyword_of(R"("pattern")", "\"" + std::string(2000, 'a') + "\"").find("#/pattern: ") == 0);
}

TEST_CASE("the cost of large divisors is bounded") {
    const auto made = [](int count, std::string_view keywords) {
        std::string members;
        for (int i = 0; i < count; ++i) {
            members += fmt::format(R"({}"name{}": {{"type": "integer", {}}})", i == 0 ? "" : ", ", i,
                                   fmt::format(fmt::runtime(keywords), 401 + i));
        }
        Language language;
        return texts_of(language,
                        {.notation = Notation::json_schema,
                         .text = R"({"type": "object", "properties": {)" + members + "}}"},
                        Vocabulary({"a"}));
    };
    CHECK(made(3, R"("multipleOf": {})").has_value());
    CHECK(made(600, R"("multipleOf": {})").error().message.find("the grammar is too large to be compiled") !=
          std::string::npos);
    CHECK(made(600, R"("multipleOf": {}, "minimum": 17000000)").error().kind == ErrorKind::unsupported);
}
