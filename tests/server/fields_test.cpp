#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna::server;

namespace {

Json parsed_body(const std::string& text) {
    return parse_body(text).value();
}

} // namespace

TEST_CASE("fields are read with type and range checks; null and absent fields are empty") {
    const Json body = parsed_body(
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

TEST_CASE("a wrong field is reported with its path and the allowed values; the first error counts") {
    const Json body = parsed_body(
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
              CHECK(!fields.number("f", 0, 1)); // after an error, all fields read as absent
              fields.flag("b");
          }).param == "outer.s");
}
