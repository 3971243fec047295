// Numbers of more digits than a double keeps: refused where they say which answers are allowed, and nowhere
// else.
#include "server/json.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <variant>
#include <vector>

using namespace etna::server;

namespace {

/// Bodies with the schema wherever a request may have one.
std::vector<std::string> bodies_with(const std::string& schema) {
    return {R"({"tools": [{"type": "function", "function": {"name": "f", "parameters": )" + schema + "}}]}",
            R"({"tools": [{"type": "function", "name": "f", "parameters": )" + schema + "}]}",
            R"({"response_format": {"type": "json_object", "schema": )" + schema + "}}",
            R"({"response_format": {"type": "json_schema", "json_schema": {"schema": )" + schema + "}}}",
            R"({"text": {"format": {"type": "json_schema", "name": "n", "schema": )" + schema + "}}}",
            R"({"structured_outputs": {"json": )" + schema + "}}",
            R"({"guided_json": )" + schema + "}",
            R"({"json_schema": )" + schema + "}"};
}

/// Where the number stands by what is told; empty where the body is taken.
std::string place_told(const std::string& body) {
    const auto parsed = parse_body(body);
    const auto* error = std::get_if<ApiError>(&parsed);
    if (error == nullptr)
        return "";
    CAPTURE(body, error->message);
    CHECK(error->status == 400);
    REQUIRE(error->message.find("of more digits than are kept, in `") != std::string::npos);
    const std::size_t begin = error->message.find('`') + 1;
    return error->message.substr(begin, error->message.find('`', begin) - begin);
}

} // namespace

TEST_CASE("numbers of keywords are refused wherever a schema has them") {
    for (const char* schema : {
             R"({"const": 3.14159265358979323846})",
             R"({"const": {"default": [{"x": 3.14159265358979323846}]}})",
             R"({"properties": {"default": {"const": 3.14159265358979323846}}})",
             R"({"patternProperties": {"x": {"const": 3.14159265358979323846}}})",
             R"({"$defs": {"examples": {"const": 3.14159265358979323846}}})",
             R"({"$defs": [{"const": 3.14159265358979323846}], "$ref": "#/$defs/0"})",
             R"({"definitions": {"x": {"not": {"const": 3.14159265358979323846}}}})",
             R"({"dependencies": {"default": {"const": 3.14159265358979323846}}})",
             R"({"dependentSchemas": {"x": {"const": 3.14159265358979323846}}})",
             R"({"items": [{"default": 1, "const": 3.14159265358979323846}]})",
             R"({"prefixItems": [{}, {"contains": {"const": 3.14159265358979323846}}]})",
             R"({"if": {}, "then": {"anyOf": [{"allOf": [{"const": 3.14159265358979323846}]}]}})",
             R"({"else": {"oneOf": [{"propertyNames": {"const": 3.14159265358979323846}}]}})",
             R"({"additionalProperties": {"additionalItems": {"const": 3.14159265358979323846}}})",
             R"({"unevaluatedItems": {"unevaluatedProperties": {"const": 3.14159265358979323846}}})",
         }) {
        for (const std::string& body : bodies_with(schema)) {
            CAPTURE(body);
            CHECK(place_told(body) == "const");
        }
    }
}

TEST_CASE("numbers of annotations, and of words that nobody knows, are none of keywords") {
    for (const char* schema : {
             R"({"default": 3.14159265358979323846})",
             R"({"default": {"const": 3.14159265358979323846}})",
             R"({"default": {"enum": [3.14159265358979323846]}})",
             R"({"examples": [{"minimum": 0.1234567890123456789}]})",
             R"({"x-range": {"minimum": 0.1234567890123456789}})",
             R"({"x-range": {"properties": {"a": {"multipleOf": 0.1234567890123456789}}}})",
             R"({"properties": {"a": {"default": {"properties": {"const": 0.1234567890123456789}}}}})",
             R"({"properties": {"minimum": {"default": 0.1234567890123456789}}})",
             R"({"dependencies": {"minimum": {"default": 0.1234567890123456789}}})",
         }) {
        for (const std::string& body : bodies_with(schema)) {
            CAPTURE(body);
            CHECK(place_told(body).empty());
        }
    }
}

TEST_CASE("annotations that a reference leads to are schemas like others") {
    const std::string schema = R"({"x-shapes": {"a": {"const": 3.14159265358979323846}}, )"
                               R"("$defs": {"b": {"items": {}}}, "properties": {"c": {"$ref": ")";
    for (const char* reference :
         {"#/x-shapes/a", "#/%78-shapes/a", "schema:/#/x-shapes/a", "#/$defs/b/x/y"}) {
        for (const std::string& body : bodies_with(schema + reference + "\"}}}")) {
            CAPTURE(body);
            CHECK(place_told(body) == "x-shapes");
        }
    }
    for (const char* reference : {"#", "#/$defs/b", "#/$defs/b/items", "#/properties/c", "#anchor", ""}) {
        for (const std::string& body : bodies_with(schema + reference + "\"}}}")) {
            CAPTURE(body);
            CHECK(place_told(body).empty());
        }
    }
    CHECK(place_told(R"({"json_schema": {"$ref": "#/x/a", "x": {"a": {"const": 0.5}}}})").empty());
}
