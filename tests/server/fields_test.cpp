#include "server/fields.hpp"
#include "tests/support/catch.hpp"

#include <ctime>
#include <string>

using namespace etna::server;

namespace {

Json parsed(const std::string& text) {
    return std::get<Json>(parse_body(text));
}

std::string message_of(const std::string& body) {
    return std::get<ApiError>(parse_body(body)).message;
}

} // namespace

TEST_CASE("a body that is no object of JSON is refused, however it is wrong") {
    CHECK(message_of("") == "request body is not valid JSON (byte 1)");
    CHECK(message_of("{\"a\": }").find("byte 7") != std::string::npos);
    CHECK(message_of("[]") == "request body must be a JSON object");
    CHECK(message_of("{\"a\": 1e999}").find("too large") != std::string::npos);
    CHECK(message_of("{\"a\": \"\xff\"}").starts_with("request body is not valid JSON (byte "));
    CHECK(message_of("{\"a\":" + std::string(10000, '[')).find("nested") != std::string::npos);
    CHECK(std::holds_alternative<Json>(
        parse_body("{\"a\":" + std::string(120, '[') + std::string(120, ']') + "}")));
}

TEST_CASE("a body of many small objects takes time in proportion") {
    // Of this process's processor time; time that grows with the square of the count would be minutes.
    std::string list;
    for (int i = 0; i < 500'000; ++i)
        list += R"({"role":"user","content":"a"},)";
    const auto begin = std::clock();
    const Json body = parsed("{\"a\":[" + list + "{}]}");
    CHECK(body["a"].size() == 500'001);
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 60);
}

TEST_CASE("a body of more values than are taken is refused before it is built") {
    std::string list(4 * json_values_max, '1');
    for (std::size_t i = 1; i < list.size(); i += 2)
        list[i] = ',';
    const auto refused = parse_body("{\"a\":[" + list + "1]}");
    REQUIRE(std::holds_alternative<ApiError>(refused));
    CHECK(std::get<ApiError>(refused).status == 413);
    CHECK(std::get<ApiError>(refused).message.find("more than 2000000 values") != std::string::npos);
}

TEST_CASE("a parsed body counts as what it holds, with two copies of its strings while it is read") {
    const std::string text(100'000, 'x');
    HttpRequest request = {.body = R"({"a": [1, 2, 3], "b": ")" + text + R"("})"};
    const std::size_t taken = request.body.size() + 8 * json_value_bytes - MemoryShare::uncounted_bytes;
    const std::size_t copies = 2 * request.body.size() - MemoryShare::uncounted_bytes;
    request.memory = std::make_shared<MemoryShare>(std::make_shared<MemoryTotal>(copies + taken - 1));
    CHECK(std::get<ApiError>(parse_body(request)).status == 503);

    const auto total = std::make_shared<MemoryTotal>(copies + 2 * taken - 1); // six values and two names
    request.memory = std::make_shared<MemoryShare>(total);
    CHECK(std::holds_alternative<Json>(parse_body(request)));
    CHECK(total->held() == taken);
    const ApiError refused = std::get<ApiError>(parse_body(request));
    CHECK(refused.status == 503);
    CHECK(refused.retry_after_s == 1);
}

TEST_CASE("a zero byte is no end of a body") {
    CHECK(message_of(std::string("{}\0", 3)).find("byte 3") != std::string::npos);
    CHECK(message_of(std::string("{}\0{", 4)).find("byte 3") != std::string::npos);
}

TEST_CASE("members are read by type and range, and the first mistake counts") {
    const Json body = parsed(
        R"({"n": 2, "f": 0.5, "whole": 3.0, "s": "x", "b": true, "list": ["a", "b"], "null": null, "odd": 1})");
    Fields fields(body);
    CHECK(fields.integer("n", 1, 4) == 2);
    CHECK(fields.integer("whole", 1, 4) == 3);
    CHECK(fields.number("f", 0, 1) == 0.5);
    CHECK(fields.number("n", 0, 2) == 2.0);
    CHECK(fields.text("s") == "x");
    CHECK(fields.flag("b") == true);
    CHECK(fields.texts("list", 2)->size() == 2);
    CHECK(fields.texts("s", 2)->size() == 1);
    CHECK(!fields.integer("null", 0, 1));
    CHECK(!fields.flag("absent"));
    CHECK(!fields.problem());
    CHECK(fields.unknown() == std::vector<std::string>{"odd"});
}

TEST_CASE("every wrong member is named, with what is allowed") {
    const Json body = parsed(
        R"({"n": 5, "big": 1e300, "huge": 18446744073709551615, "f": 0.5, "s": 1, "b": "yes", "list": ["a", 1], "many": ["a", "b", "c"]})");
    const auto problem = [&](auto read) {
        Fields fields(body, "outer");
        read(fields);
        REQUIRE(fields.problem().has_value());
        CHECK(fields.problem()->status == 400);
        return *fields.problem();
    };
    const ApiError range = problem([](Fields& fields) { fields.integer("n", 1, 4); });
    CHECK(range.message == "`outer.n` must be from 1 to 4");
    CHECK(range.param == "outer.n");
    CHECK(range.code == "integer_above_max_value");
    CHECK(problem([](Fields& fields) { fields.integer("n", 6, 9); }).code == "integer_below_min_value");
    CHECK(problem([](Fields& fields) { fields.integer("big", 1, 4); }).code == "integer_above_max_value");
    CHECK(problem([](Fields& fields) { fields.integer("huge", 1, 4); }).code == "integer_above_max_value");
    CHECK(problem([](Fields& fields) { fields.integer("f", 0, 4); }).code == "invalid_type");
    CHECK(problem([](Fields& fields) { fields.number("f", 1, 4); }).code == "decimal_below_min_value");
    CHECK(problem([](Fields& fields) { fields.number("f", 0.5, 4, Bound::excluded); }).message ==
          "`outer.f` must be above 0.5 and at most 4");
    CHECK(problem([](Fields& fields) {
              fields.number("f", 0, 0.5, Bound::included, Bound::excluded);
          }).message == "`outer.f` must be at least 0 and below 0.5");
    CHECK(problem([](Fields& fields) { fields.number("b", 1, 4); }).code == "invalid_type");
    CHECK(problem([](Fields& fields) { fields.text("s"); }).message == "`outer.s` must be a string");
    CHECK(problem([](Fields& fields) { fields.flag("b"); }).code == "invalid_type");
    CHECK(problem([](Fields& fields) { fields.texts("list", 4); }).code == "invalid_type");
    CHECK(problem([](Fields& fields) { fields.texts("many", 2); }).code == "array_above_max_length");
    CHECK(problem([](Fields& fields) { fields.require("absent"); }).code == "missing_required_parameter");
    CHECK(problem([](Fields& fields) {
              fields.text("s");
              CHECK(!fields.number("f", 0, 1)); // after a mistake everything reads as absent
              fields.flag("b");
          }).param == "outer.s");
}
