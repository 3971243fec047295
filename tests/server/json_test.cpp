// Parsing of request bodies: JSON errors, limits, memory, and numbers with more digits than a double.
#include "server/api/request_body.hpp"
#include "server/base/json.hpp"
#include "tests/support/catch.hpp"

#include <ctime>
#include <memory>
#include <string>
#include <variant>
#include <vector>

using namespace etna::server;

namespace {

std::string parse_error(const std::string& body) {
    return parse_body(body).error().message;
}

/// Request bodies with the schema in every field that takes one.
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

/// The keyword that the error for a long number names; empty if the body is accepted.
std::string refused_keyword(const std::string& body) {
    const auto parsed = parse_body(body);
    const ApiError* error = parsed ? nullptr : &parsed.error();
    if (error == nullptr)
        return "";
    CAPTURE(body, error->message);
    CHECK(error->status == 400);
    REQUIRE(error->message.find("a number with more than 17 digits, in `") != std::string::npos);
    const std::size_t begin = error->message.find('`') + 1;
    return error->message.substr(begin, error->message.find('`', begin) - begin);
}

} // namespace

TEST_CASE("a body that is not a JSON object is refused") {
    CHECK(parse_error("") == "request body is not valid JSON (byte 1)");
    CHECK(parse_error("{\"a\": }").find("byte 7") != std::string::npos);
    CHECK(parse_error("[]") == "request body must be a JSON object");
    CHECK(parse_error("{\"a\": 1e999}").find("too large") != std::string::npos);
    CHECK(parse_error("{\"a\": \"\xff\"}").starts_with("request body is not valid JSON (byte "));
    CHECK(parse_error("{\"a\":" + std::string(10000, '[')).find("nested") != std::string::npos);
    CHECK(parse_body("{\"a\":" + std::string(120, '[') + std::string(120, ']') + "}"));
}

TEST_CASE("parsing many small objects takes linear time") {
    // Processor time of this process; quadratic time would be minutes.
    std::string list;
    for (int i = 0; i < 500'000; ++i)
        list += R"({"role":"user","content":"a"},)";
    const auto begin = std::clock();
    const Json body = parse_body("{\"a\":[" + list + "{}]}").value();
    CHECK(body["a"].size() == 500'001);
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 60);
}

TEST_CASE("a body with too many values gets 413 before it is parsed into memory") {
    std::string list(4 * json_values_max, '1');
    for (std::size_t i = 1; i < list.size(); i += 2)
        list[i] = ',';
    const auto refused = parse_body("{\"a\":[" + list + "1]}");
    REQUIRE(!refused);
    CHECK(refused.error().status == 413);
    CHECK(refused.error().message.find("more than 2000000 values") != std::string::npos);
}

TEST_CASE("parsing charges the request for its values, and temporarily for two copies of its strings") {
    const std::string text(100'000, 'x');
    HttpRequest request = {.body = R"({"a": [1, 2, 3], "b": ")" + text + R"("})"};
    // Six values and two names.
    const std::size_t parsed =
        request.body.size() + 8 * json_value_bytes - MemoryReservation::uncounted_bytes;
    const std::size_t copies = 2 * request.body.size() - MemoryReservation::uncounted_bytes;
    request.memory = std::make_shared<MemoryReservation>(std::make_shared<MemoryBudget>(copies + parsed - 1));
    CHECK(parse_body(request).error().status == 503);

    const auto budget = std::make_shared<MemoryBudget>(copies + 2 * parsed - 1);
    request.memory = std::make_shared<MemoryReservation>(budget);
    CHECK(parse_body(request));
    CHECK(budget->held() == parsed);
    const ApiError refused = parse_body(request).error();
    CHECK(refused.status == 503);
    CHECK(refused.retry_after_s == 1);
}

TEST_CASE("a zero byte does not end a body") {
    CHECK(parse_error(std::string("{}\0", 3)).find("byte 3") != std::string::npos);
    CHECK(parse_error(std::string("{}\0{", 4)).find("byte 3") != std::string::npos);
}

TEST_CASE("a number with more than 17 digits is refused in const, at any depth of any schema") {
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
             R"({"x-shapes": {"a": {"const": 3.14159265358979323846}}, "$ref": "#/x-shapes/a"})",
             R"({"const": {"a": [1, {"b": {}}], "minimum": [0.5, 3.14159265358979323846]}})",
         }) {
        for (const std::string& body : bodies_with(schema)) {
            CAPTURE(body);
            CHECK(refused_keyword(body) == "const");
        }
    }
}

TEST_CASE("a number with more than 17 digits is refused in every keyword that bounds numbers") {
    for (const std::string keyword :
         {"enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) {
        const std::string value =
            keyword == "enum" ? "[1, [0.1234567890123456789]]" : "0.1234567890123456789";
        for (const std::string& body : bodies_with(R"({"items": {")" + keyword + "\": " + value + "}}")) {
            CAPTURE(body);
            CHECK(refused_keyword(body) == keyword);
        }
    }
    CHECK(refused_keyword(R"({"minimum": 12345678901234567890123})") == "minimum");
    CHECK(refused_keyword(R"({"minimum": 0.00012345678901234567})").empty());    // 17 digits
    CHECK(refused_keyword(R"({"minimum": 1000000000000000000000})").empty());    // one digit
    CHECK(refused_keyword(R"({"minimum": 0.123456789012345678})") == "minimum"); // 18 digits
}

TEST_CASE("a number with more than 17 digits is accepted in annotations and outside of schemas") {
    for (const char* schema : {
             R"({"default": 3.14159265358979323846})",
             R"({"default": {"x": [3.14159265358979323846]}})",
             R"({"examples": [3.14159265358979323846, {"a": 3.14159265358979323846}]})",
             R"({"properties": {"minimum": {"default": 0.1234567890123456789}}})",
             R"({"dependencies": {"minimum": {"default": 0.1234567890123456789}}})",
             R"({"anyOf": [{"const": 1}, {"enum": [1]}, 0.1234567890123456789]})",
             R"({"const": {"a": 1}, "x": 0.1234567890123456789})",
         }) {
        for (const std::string& body : bodies_with(schema)) {
            CAPTURE(body);
            CHECK(refused_keyword(body).empty());
        }
    }
    CHECK(refused_keyword(R"({"temperature": 0.1234567890123456789, "constant": 3.14159265358979323846})")
              .empty());
}
