// Which numbers schemas leave: divisors of many digits, those that say nothing of integers, and bounds at the
// ends of what doubles hold.

#include "core/grammar/description.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

/// The texts of a schema's keywords.
class Numbers {
public:
    explicit Numbers(std::string_view keywords)
        : made_(texts_of(language_,
                         {.notation = Notation::json_schema,
                          .text = fmt::format("{{{}}}", keywords),
                          .is_compact = true},
                         Vocabulary({"a"}))) {}

    [[nodiscard]] bool fits(std::string_view text) {
        return made_ && language_.is_nullable(language_.next(*made_, text));
    }
    /// "" for none.
    [[nodiscard]] std::string error() const {
        return made_ ? "" : made_.error().message + " | " + made_.error().hint;
    }

private:
    Language language_;
    Result<Expression> made_;
};

std::string zeros(std::size_t count) {
    std::string text;
    text.resize(count, '0');
    return text;
}

} // namespace

TEST_CASE("divisors of many digits have few states where their multiples end with few") {
    for (const uint64_t divisor : {1'000'000, 100'000, 250'000, 86'400, 65'536, 16'384, 19'999, 1'234'560}) {
        Numbers numbers(fmt::format(R"("type": "integer", "multipleOf": {})", divisor));
        CAPTURE(divisor, numbers.error());
        for (const uint64_t factor : {0, 1, 2, 7, 50})
            CHECK(numbers.fits(fmt::format("{}", divisor * factor)));
        for (const uint64_t offset : {1, 2, 10, 600, 8'192})
            CHECK(!numbers.fits(fmt::format("{}", divisor * 7 + offset)));
        CHECK(!numbers.fits(fmt::format("{}", divisor / 2)));
        CHECK(numbers.fits(fmt::format("-{}", divisor)));
    }
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1e5)").fits("123456789000000"));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 9999.5)").fits("39998"));
    CHECK(!Numbers(R"("type": "integer", "multipleOf": 9999.5)").fits("29998"));
    Numbers above(R"("type": "integer", "multipleOf": 65536, "minimum": 1000000000)");
    CHECK(above.fits("1000013824"));
    CHECK(!above.fits("1000013825"));
    CHECK(!above.fits("999948288"));
    Numbers fine(R"("type": "number", "multipleOf": 1e-9)");
    CHECK(fine.fits("0.123456789"));
    CHECK(fine.fits("0.1234567890"));
    CHECK(!fine.fits("0.1234567891"));
    Numbers halves(R"("type": "number", "multipleOf": 9999.5)");
    CHECK(halves.fits("29998.5"));
    CHECK(!halves.fits("29999.5"));
}

TEST_CASE("divisors that are refused are named, with what would do") {
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1000003)").error() ==
          "#/multipleOf: the divisor 1000003 takes too many states | choose a smaller one, or one with fewer "
          "digits before its last zeros");
    CHECK(Numbers(R"("type": "integer", "multipleOf": 1e20)").error() ==
          "#/multipleOf: the divisor 100000000000000000000 has more than 15 digits | readers of JSON keep no "
          "more of its multiples: choose a shorter one");
    CHECK(Numbers(R"("multipleOf": 999999937, "allOf": [{"multipleOf": 999999929}])").error() ==
          "#/multipleOf: the least multiple of both 999999937 and 999999929 has more than 15 digits | choose "
          "divisors with more factors in common");
}

TEST_CASE("divisors of one say nothing of integers") {
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
    Numbers two(R"("type": "integer", "multipleOf": 1, "not": {"multipleOf": 2.5})");
    CHECK(two.fits("12"));
    CHECK(!two.fits("15"));
    CHECK(Numbers(R"("type": "integer", "not": {"multipleOf": 0.5})").error().starts_with("no text fits"));
}

TEST_CASE("multiples of an integer have no fraction") {
    Numbers numbers(R"("anyOf": [{"type": "number"}, {"type": "null"}], "multipleOf": 997,
                       "minimum": 99700000000000000, "not": {"type": "integer"})");
    CAPTURE(numbers.error());
    CHECK(numbers.fits("null"));
    CHECK(!numbers.fits("99700000000000000.5"));
}

TEST_CASE("multiples have no more digits than validators in JavaScript divide, but where a bound asks") {
    for (const auto& [divisor, digits] : {std::pair{"1", 20U}, {"2", 20U}, {"256", 22U}}) {
        Numbers numbers(fmt::format(R"("type": "integer", "multipleOf": {})", divisor));
        CAPTURE(divisor);
        CHECK(numbers.fits("65536" + zeros(digits - 5)));
        CHECK(!numbers.fits("65536" + zeros(digits - 4)));
        CHECK(!numbers.fits("-65536" + zeros(digits - 4)));
    }
    CHECK(Numbers(R"("type": "integer", "multipleOf": 2, "minimum": 1e21)").fits("2" + zeros(30)));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 2, "maximum": -1e21)").fits("-2" + zeros(30)));
    CHECK(!Numbers(R"("type": "integer", "multipleOf": 2, "maximum": 1e25)").fits("2" + zeros(24)));
    CHECK(Numbers(R"("type": "integer", "multipleOf": 0.5)").fits("1" + zeros(308)));
}

TEST_CASE("numbers go to the largest double behind a bound near to it") {
    const auto largest = "17976931348623157" + zeros(292);
    const auto above = "17976931348623158" + zeros(292);
    for (const char* keywords :
         {R"("type": "integer", "minimum": 1.7e308)", R"("type": "number", "minimum": 1.2e308)",
          R"("type": "number", "exclusiveMinimum": 1e308)"}) {
        Numbers numbers(keywords);
        CAPTURE(keywords, numbers.error());
        CHECK(numbers.fits("175" + zeros(306)));
        CHECK(!numbers.fits(above));
        CHECK(!numbers.fits("99" + zeros(306)));
        CHECK(!numbers.fits("-" + largest));
    }
    CHECK(Numbers(R"("type": "integer", "minimum": 1.7e308)").fits(largest));
    Numbers below(R"("type": "number", "maximum": -1.2e308)");
    CHECK(below.fits("-" + largest + ".0"));
    CHECK(!below.fits("-" + above));
    CHECK(!below.fits(largest));
    CHECK(Numbers(R"("type": "integer", "minimum": 1.7e308, "multipleOf": 4)").fits("175" + zeros(306)));
}

TEST_CASE("numbers are in their set where doubles keep few digits") {
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
    CHECK(Numbers(R"("type": "number", "exclusiveMinimum": 0, "maximum": 1e-330)").error() ==
          "numbers from 0 up to 1e-330 are too near to zero to be told apart by readers of JSON | choose "
          "bounds that leave zero, or numbers beyond 1e-307");
}

TEST_CASE("errors of divisors name them and the bounds") {
    CHECK(Numbers(R"("type": "integer", "minimum": 9007199254740991, "multipleOf": 99)").error() ==
          "#/multipleOf: multiples of 99 from 9007199254740991 on have more than 15 digits: too many to be "
          "told from other numbers | choose bounds of at most 15 digits");
    CHECK(
        Numbers(R"("type": "integer", "minimum": 0, "maximum": 1700000000, "multipleOf": 9973)").error() ==
        "#/multipleOf: multiples of 9973 from 0 up to 1700000000 have more than 8 digits: too many to be "
        "told from other numbers | choose bounds of at most 8 digits, or a divisor with fewer digits before "
        "its last zeros");
    CHECK(Numbers(R"("not": {"multipleOf": 1999})").error() ==
          "#/not/multipleOf: numbers that are no multiples of 1999 take more than 16384 states | choose a "
          "smaller divisor, or give bounds of fewer digits");
}

TEST_CASE("an excluded constant that is no multiple says nothing") {
    Numbers fives(R"("type": "integer", "multipleOf": 5, "not": {"const": 954371000520006903})");
    CHECK(fives.fits("123456789012345"));
    CHECK(!fives.fits("123456789012346"));
    Numbers several(R"("type": "integer", "multipleOf": 5, "minimum": 10, "maximum": 99,
                       "not": {"enum": [33, 954371000520006903, 20, 12]})");
    CHECK(several.fits("15"));
    CHECK(several.fits("30"));
    CHECK(several.fits("35"));
    CHECK(several.fits("95"));
    CHECK(!several.fits("20"));
    CHECK(!several.fits("12"));
    CHECK(!several.fits("100"));
    CHECK(!several.fits("5"));
}
