// Number keywords of schemas: divisors with many digits, divisors that are redundant for integers, and bounds
// at the limits of doubles.

#include "core/grammar/description.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

/// The texts of a schema's keywords.
class Numbers {
public:
    explicit Numbers(std::string_view keywords)
        : live_arenas_(texts_of(language_,
                                {.notation = Notation::json_schema,
                                 .text = fmt::format("{{{}}}", keywords),
                                 .spacing = JsonSpacing::none},
                                Vocabulary({"a"}))) {}

    [[nodiscard]] bool fits(std::string_view text) {
        return live_arenas_ && language_.is_nullable(language_.next(*live_arenas_, text));
    }
    /// "" for none.
    [[nodiscard]] std::string error() const {
        return live_arenas_ ? "" : live_arenas_.error().message + " | " + live_arenas_.error().hint;
    }

private:
    Language language_;
    Result<Expression> live_arenas_;
};

std::string zeros(std::size_t count) {
    std::string text;
    text.resize(count, '0');
    return text;
}

} // namespace

TEST_CASE("divisors with many digits are accepted if they need few states") {
    for (const uint64_t divisor : {1'000'000, 100'000, 250'000, 86'400, 8'192, 4'096, 1'021, 604'800}) {
        Numbers numbers(fmt::format(R"("type": "integer", "multipleOf": {})", divisor));
        CAPTURE(divisor, numbers.error());
        for (const uint64_t factor : {0, 1, 2, 7, 50})
            CHECK(numbers.fits(fmt::format("{}", divisor * factor)));
        for (const uint64_t offset : {1, 2, 10, 600, 2'047})
            CHECK(!numbers.fits(fmt::format("{}", divisor * 7 + offset)));
        CHECK(!numbers.fits(fmt::format("{}", divisor / 2)));
        CHECK(numbers.fits(fmt::format("-{}", divisor)));
    }
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1e5)").fits("123456789000000"));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 99.5)").fits("398"));
    CHECK(!Numbers(R"("type": "integer", "multipleOf": 99.5)").fits("298"));
    Numbers above(R"("type": "integer", "multipleOf": 4096, "minimum": 1000000000)");
    CHECK(above.fits("1000001536"));
    CHECK(!above.fits("1000001537"));
    CHECK(!above.fits("999997440"));
    Numbers fine(R"("type": "number", "multipleOf": 1e-9)");
    CHECK(fine.fits("0.123456789"));
    CHECK(fine.fits("0.1234567890"));
    CHECK(!fine.fits("0.1234567891"));
    Numbers halves(R"("type": "number", "multipleOf": 99.5)");
    CHECK(halves.fits("298.5"));
    CHECK(!halves.fits("299.5"));
}

TEST_CASE("refused divisors are named, with a hint") {
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1000003)").error() ==
          "#/multipleOf: the divisor 1000003 needs more than 1024 states | choose a smaller divisor, or drop "
          "the keyword with a lenient schema (--lenient-schema)");
    CHECK(
        Numbers(R"("type": "integer", "multipleOf": 1e20)").error() ==
        "#/multipleOf: the divisor 100000000000000000000 has more than 15 digits | choose a shorter divisor: "
        "readers of JSON do not preserve all digits of its multiples");
    CHECK(Numbers(R"("multipleOf": 1021, "allOf": [{"multipleOf": 1019}])").error() ==
          "#/multipleOf: the divisor 1040399 needs more than 1024 states | choose a smaller divisor, or drop "
          "the keyword with a lenient schema (--lenient-schema)");
    CHECK(Numbers(R"("multipleOf": 1e14, "allOf": [{"multipleOf": 0.25}])").error() ==
          "#/multipleOf: the least common multiple of 100000000000000 and 0.25 has more than 15 digits | "
          "choose "
          "divisors with more factors in common");
    CHECK(Numbers(R"("not": {"multipleOf": 3})").error() ==
          "#/not/multipleOf: numbers that are not a multiple cannot be enforced | leave it out, or have such "
          "keywords left out (--lenient-schema)");
}

TEST_CASE("the limit of a divisor's states is 1,024") {
    CHECK(Numbers(R"("type": "integer", "multipleOf": 8192)").error().empty());
    CHECK(Numbers(R"("type": "integer", "multipleOf": 16384)")
              .error()
              .starts_with("#/multipleOf: the divisor"));
}

TEST_CASE("a lenient schema drops a divisor that is refused") {
    Language language;
    std::vector<std::string> dropped;
    const auto made = json_schema(language, R"({"type": "integer", "multipleOf": 1000003})",
                                  {.is_lenient = true}, &dropped);
    REQUIRE(made);
    CHECK(dropped == std::vector<std::string>{"#/multipleOf"});
    CHECK(language.is_nullable(language.next(*made, "7")));
}

TEST_CASE("divisors of one are redundant for integers") {
    for (const char* divisor : {"1", "0.5", "0.1", "1.0", "0.000001"}) {
        Numbers numbers(fmt::format(R"("type": "integer", "multipleOf": {})", divisor));
        CAPTURE(divisor);
        CHECK(numbers.fits("123456789012"));
        CHECK(!numbers.fits("1.5"));
    }
    Numbers above(R"("type": "integer", "multipleOf": 1, "minimum": 1000000000000000000)");
    CHECK(above.fits("1234567890123456789"));
    CHECK(!above.fits("999999999999999999"));
    Numbers any(R"("type": "number", "multipleOf": 1, "maximum": 9007199254740991)");
    CHECK(any.fits("9007199254740991"));
    CHECK(any.fits("5.00"));
    CHECK(!any.fits("9007199254740992.0"));
    CHECK(!any.fits("5.5"));
    CHECK(!any.fits("5."));
}

TEST_CASE("multiples of an integer have no fraction") {
    Numbers numbers(R"("anyOf": [{"type": "number"}, {"type": "null"}], "multipleOf": 997,
                       "minimum": 99700000000000000, "not": {"type": "integer"})");
    CAPTURE(numbers.error());
    CHECK(numbers.fits("null"));
    CHECK(!numbers.fits("99700000000000000.5"));
}

TEST_CASE("multiples have at most 15 digits, and those of 1 at most 20, which JavaScript can divide") {
    for (const auto& [divisor, digits] : {std::pair{"1", 20U}, {"2", 15U}, {"256", 15U}}) {
        Numbers numbers(fmt::format(R"("type": "integer", "multipleOf": {})", divisor));
        CAPTURE(divisor);
        CHECK(numbers.fits("65536" + zeros(digits - 5)));
        CHECK(!numbers.fits("65536" + zeros(digits - 4)));
        CHECK(!numbers.fits("-65536" + zeros(digits - 4)));
    }
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1, "minimum": 1e21)").fits("2" + zeros(30)));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1, "maximum": -1e21)").fits("-2" + zeros(30)));
    CHECK(!Numbers(R"("type": "integer", "multipleOf": 1, "maximum": 1e25)").fits("2" + zeros(24)));
    CHECK(Numbers(R"("type": "number", "multipleOf": 1e-8)").fits("123456789012"));
    CHECK(!Numbers(R"("type": "number", "multipleOf": 1e-8)").fits("1234567890123"));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 0.5)").fits("1" + zeros(308)));
}

TEST_CASE("numbers without a near bound have at most 308 digits before the point") {
    CHECK(Numbers(R"("type": "number", "minimum": 1e307)").fits("99" + zeros(306)));
    CHECK(Numbers(R"("type": "integer", "minimum": 1e307)").fits("1" + zeros(308)));
    CHECK(!Numbers(R"("type": "number", "minimum": 1)").fits("11" + zeros(307)));
    CHECK(Numbers(R"("minimum": -1.7976931348623157e308, "maximum": 1.7976931348623157e308)").fits("-5.5"));
    for (const char* keyword : {R"("minimum": 1.7e308)", R"("maximum": -1.7e308)"}) {
        CHECK(Numbers(fmt::format(R"("type": "number", {})", keyword)).error() ==
              "a number of 309 digits before its point is too large for readers of JSON | choose one below "
              "1e308");
    }
}

TEST_CASE("numbers near zero stay in their set when read as doubles") {
    const auto small = [](std::string_view digits, std::size_t places) {
        return "0." + zeros(places - digits.size()) + std::string(digits);
    };
    Numbers above_least(R"("type": "number", "exclusiveMinimum": 4.9e-324)");
    CHECK(!above_least.fits(small("6", 324))); // reads as the bound
    CHECK(above_least.fits(small("1", 307)));
    CHECK(above_least.fits("0.1"));
    CHECK(!above_least.fits("0"));
    Numbers others(R"("type": "number", "not": {"const": 1e-320})");
    CHECK(!others.fits(small("100001", 325)));
    CHECK(others.fits(small("123456789012345", 307)));
    CHECK(others.fits("0"));
    Numbers fractions(R"("type": "number", "minimum": -1e-320, "not": {"type": "integer"})");
    CHECK(!fractions.fits(small("1", 330))); // reads as 0
    CHECK(fractions.fits("0.5"));
    CHECK(Numbers(R"("type": "number", "minimum": 1e-320)").fits(small("2", 320)));
    CHECK(Numbers(R"("type": "number", "exclusiveMinimum": 0, "maximum": -1e-330)")
              .error()
              .starts_with("no text fits"));
    CHECK(Numbers(R"("type": "integer", "exclusiveMinimum": 5e-324, "exclusiveMaximum": 0.7)")
              .error()
              .starts_with("no text fits"));
    CHECK(
        Numbers(R"("type": "number", "exclusiveMinimum": 0, "maximum": 1e-330)").error() ==
        "numbers from 0 up to 1e-330 need more precision than the 15 digits that readers of JSON preserve | "
        "choose bounds with fewer digits, or a larger range");
}

TEST_CASE("errors of divisors name them and the bounds") {
    CHECK(Numbers(R"("type": "integer", "minimum": 9007199254740991, "multipleOf": 99)").error() ==
          "#/multipleOf: multiples of 99 from 9007199254740991 need more precision than the 15 digits that "
          "readers of JSON preserve | choose bounds with fewer digits, or a larger range");
    CHECK(Numbers(R"("type": "integer", "minimum": 1700000000, "multipleOf": 997)").error() ==
          "#/multipleOf: multiples of 997 from 1700000000 need more than 16384 states | choose a smaller "
          "divisor, "
          "or bounds with fewer digits");
}

TEST_CASE("a constant that is excluded from multiples splits them") {
    Numbers several(R"("type": "integer", "multipleOf": 5, "minimum": 10, "maximum": 99,
                       "not": {"enum": [33, 20, 12]})");
    CHECK(several.fits("15"));
    CHECK(several.fits("30"));
    CHECK(several.fits("35"));
    CHECK(several.fits("95"));
    CHECK(!several.fits("20"));
    CHECK(!several.fits("12"));
    CHECK(!several.fits("100"));
    CHECK(!several.fits("5"));
}
