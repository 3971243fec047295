// Sets of JSON numbers against plain arithmetic in thousandths, over all short numbers, and against doubles,
// over samples of long ones.

#include "core/grammar/schema/json_numbers.hpp"
#include "core/grammar/schema/multiples.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

constexpr int64_t unit = 1000; ///< one, in thousandths

struct Sample {
    std::string text;
    int64_t thousandths = 0;
    bool is_integer = false; ///< without a point
};

/// Numbers between -130 and 130, with up to three digits after the point.
std::vector<Sample> samples() {
    std::vector<Sample> all;
    for (int64_t whole = 0; whole <= 130; ++whole) {
        for (const bool is_negative : {false, true}) {
            const char* sign = is_negative ? "-" : "";
            const int64_t factor = is_negative ? -1 : 1;
            if (whole != 0 || !is_negative)
                all.push_back({fmt::format("{}{}", sign, whole), factor * whole * unit, true});
            for (const int64_t fraction : {0, 1, 5, 9, 10, 25, 50, 99, 100, 250, 499, 500, 501, 750, 999}) {
                if (whole == 0 && fraction == 0 && is_negative)
                    continue;
                all.push_back(
                    {fmt::format("{}{}.{:03}", sign, whole, fraction), factor * (whole * unit + fraction)});
                if (fraction % 100 == 0) {
                    all.push_back({fmt::format("{}{}.{}", sign, whole, fraction / 100),
                                   factor * (whole * unit + fraction)});
                }
            }
        }
    }
    return all;
}

Decimal of_thousandths(int64_t value) {
    const int64_t magnitude = value < 0 ? -value : value;
    return decimal(fmt::format("{}{}.{:03}", value < 0 ? "-" : "", magnitude / unit, magnitude % unit))
        .value();
}

bool is_of_kind(const Sample& sample, NumberKind kind) {
    switch (kind) {
    case NumberKind::integer:
        return sample.is_integer;
    case NumberKind::fraction:
        return sample.thousandths % unit != 0;
    case NumberKind::any:
        return true;
    }
    return false;
}

int64_t random_divisor(std::mt19937& random) {
    return std::array<int64_t, 7>{unit, 3 * unit, 7 * unit, 500, 10, 250, 2500}[random() % 7];
}

int64_t random_value(std::mt19937& random, int64_t step) {
    return (static_cast<int64_t>(random() % 241) - 120) * unit + static_cast<int64_t>(random() % 4) * step;
}

/// A number of the set with at least `bytes` bytes, or the longest that the random choices lead to.
std::string random_number(Language& language, Expression set, std::mt19937& random, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes || !language.is_nullable(set)) {
        std::string follow;
        for (const char byte : std::string_view("0123456789-+.eE")) {
            if (language.next(set, static_cast<uint8_t>(byte)) != nothing)
                follow += byte;
        }
        if (follow.empty())
            break;
        text += follow[random() % follow.size()];
        set = language.next(set, static_cast<uint8_t>(text.back()));
    }
    REQUIRE(language.is_nullable(set));
    return text;
}

/// The number as a reader with doubles sees it.
double as_double(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}

bool is_multiple(double value, double divisor) {
    return std::fmod(value, divisor) == 0;
}

/// Whether a reader with doubles finds a number in the set. Its divisors are sums of powers of two.
bool holds(const NumberSet& set, double value, double min, double max, double divisor) {
    const bool is_whole_number = std::floor(value) == value;
    return (set.kind == NumberKind::any || is_whole_number == (set.kind == NumberKind::integer)) &&
           (!set.lower || (set.lower->is_excluded ? value > min : value >= min)) &&
           (!set.upper || (set.upper->is_excluded ? value < max : value <= max)) &&
           (set.multiples_of.empty() || is_multiple(value, divisor));
}

} // namespace

TEST_CASE("number sets contain the numbers that arithmetic predicts") {
    std::mt19937 random(31);
    const auto all = samples();
    for (int round = 0; round < 60; ++round) {
        constexpr std::array kinds = {NumberKind::integer, NumberKind::any, NumberKind::fraction};
        NumberSet set{.kind = kinds[random() % kinds.size()]};
        std::optional<int64_t> min;
        std::optional<int64_t> max;
        std::optional<int64_t> divisor;
        if (random() % 3 != 0)
            min = random_value(random, 250);
        if (random() % 3 != 0)
            max = random_value(random, 333);
        if (random() % 3 == 0)
            divisor = random_divisor(random);
        if (min)
            set.lower = {of_thousandths(*min), random() % 2 == 0};
        if (max)
            set.upper = {of_thousandths(*max), random() % 2 == 0};
        if (divisor)
            set.multiples_of = {of_thousandths(*divisor)};
        Language language;
        const Expression numbers = json_number(language, set).value();
        const bool is_single = min && max && *min == *max && !divisor;
        for (const Sample& one : all) {
            if (is_single && one.text.back() == '0' && one.text.find('.') != std::string::npos)
                continue; // a single number is written without them
            bool is_expected = is_of_kind(one, set.kind);
            if (min) {
                is_expected = is_expected &&
                              (set.lower->is_excluded ? one.thousandths > *min : one.thousandths >= *min);
            }
            if (max) {
                is_expected = is_expected &&
                              (set.upper->is_excluded ? one.thousandths < *max : one.thousandths <= *max);
            }
            if (divisor)
                is_expected = is_expected && one.thousandths % *divisor == 0;
            CAPTURE(round, one.text, min.value_or(-1), max.value_or(-1), divisor.value_or(-1));
            REQUIRE(test::fits(language, numbers, one.text) == is_expected);
        }
    }
}

TEST_CASE("numbers follow JSON's grammar, and zero has no sign") {
    Language language;
    const Expression any = json_number(language, {}).value();
    const Expression integer = json_number(language, {.kind = NumberKind::integer}).value();
    for (const char* text : {"0", "-1", "1.5e10", "1E-3", "12345678901234567890", "-0.5"}) {
        CAPTURE(text);
        CHECK(test::fits(language, any, text));
    }
    for (const char* text : {"", "-", "-0", "01", "1.", ".5", "+1", "1e", "0x1", "1 "}) {
        CAPTURE(text);
        CHECK(!test::fits(language, any, text));
        CHECK(!test::fits(language, integer, text));
    }
    CHECK(test::fits(language, integer, "-12"));
    CHECK(!test::fits(language, integer, "1.0"));
    CHECK(!test::fits(language, integer, "1e3"));
}

TEST_CASE("all numbers are finite doubles of bounded length") {
    const auto bound = [](std::string_view value) { return Bound{decimal(value).value()}; };
    const NumberSet sets[] = {{},
                              {.kind = NumberKind::integer},
                              {.kind = NumberKind::fraction},
                              {.lower = bound("0")},
                              {.upper = bound("1e300")},
                              {.kind = NumberKind::integer, .upper = bound("-5")},
                              {.lower = bound("-1e308"), .upper = bound("1e308")},
                              {.lower = bound("0"), .upper = bound("1e350")},
                              {.kind = NumberKind::integer, .lower = bound("-1e350"), .upper = bound("0")},
                              {.multiples_of = {decimal("0.5").value()}}};
    std::mt19937 random(7);
    for (const NumberSet& set : sets) {
        Language language;
        const Expression numbers = json_number(language, set).value();
        for (int round = 0; round < 40; ++round) {
            const std::string text = random_number(language, numbers, random, random() % 500);
            CAPTURE(text);
            REQUIRE(std::isfinite(as_double(text)));
            REQUIRE(text.size() < 800);
        }
    }
    Language language;
    const Expression any = json_number(language, {}).value();
    CHECK(test::fits(language, any, "1" + std::string(308, '0')));
    CHECK(test::fits(language, any, "-" + std::string(308, '9')));
    CHECK(test::fits(language, any, std::string(40, '9') + "e99"));
    CHECK(test::fits(language, any, "1.5e-99"));
    for (const char* text : {"1e100", "1e400", "9e99999999999"}) {
        CAPTURE(text);
        CHECK(!test::fits(language, any, text));
    }
    CHECK(!test::fits(language, any, std::string(309, '9')));
    CHECK(!test::fits(language, json_number(language, {.kind = NumberKind::integer}).value(),
                      std::string(309, '9')));
    const Error error = json_number(language, {.lower = bound("1e350"), .upper = bound("1e350")}).error();
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message == "a number of 351 digits before its point is too large for readers of JSON");
}

TEST_CASE("numbers stay in their set when read as doubles") {
    std::mt19937 random(19);
    for (int round = 0; round < 400; ++round) {
        constexpr std::array kinds = {NumberKind::integer, NumberKind::any, NumberKind::fraction};
        constexpr std::array bounds = {"1",
                                       "0",
                                       "-0.1",
                                       "0.3",
                                       "123456789012345678",
                                       "7.00000000000000012",
                                       "-99999999999999999.99",
                                       "10000000000000000"};
        constexpr std::array divisors = {"5", "0.25", "3", "1.5", "1"};
        NumberSet set{.kind = kinds[random() % kinds.size()]};
        const std::string bound = bounds[random() % bounds.size()];
        const std::string divisor = divisors[random() % divisors.size()];
        const auto exact = Bound{decimal(bound).value(), random() % 2 == 0};
        if (random() % 3 == 0) {
            set.lower = exact;
        } else if (random() % 2 == 0) {
            set.upper = exact;
        }
        if (random() % 3 == 0)
            set.multiples_of = {decimal(divisor).value()};
        Language language;
        const auto made = json_number(language, set);
        if (!made) { // all its multiples have too many digits
            REQUIRE(made.error().kind == ErrorKind::unsupported);
            REQUIRE((!set.multiples_of.empty() && bound.size() > exact_digits));
            continue;
        }
        const Expression numbers = *made;
        if (numbers == nothing)
            continue;
        for (const std::size_t bytes : {1, 3, 12, 16, 17, 18, 20, 22, 25, 40}) {
            const std::string text = random_number(language, numbers, random, bytes);
            CAPTURE(text, bound, divisor, set.lower.has_value(), set.upper.has_value());
            REQUIRE(holds(set, as_double(text), as_double(bound), as_double(bound), as_double(divisor)));
        }
    }
}

TEST_CASE("numbers with more digits than doubles preserve are excluded if the digits decide membership") {
    Language language;
    const auto made = [&](const NumberSet& set) { return json_number(language, set).value(); };
    const Bound one = {decimal("1").value(), true};
    CHECK(test::fits(language, made({.upper = one}), "0.999999999999999"));
    CHECK(!test::fits(language, made({.upper = one}), "0.99999999999999999"));
    CHECK(!test::fits(language, made({.upper = Bound{Decimal(), true}}), "-0.0"));
    CHECK(test::fits(language, made({.upper = Bound{Decimal(), true}}), "-0.01"));
    CHECK(test::fits(language, made({.kind = NumberKind::integer, .lower = one}), "12345678901234567890"));
    const Expression above =
        made({.kind = NumberKind::integer, .lower = Bound{decimal("1e16").value(), true}});
    CHECK(!test::fits(language, above, "10000000000000001"));
    CHECK(test::fits(language, above, "10000000000000100"));
    CHECK(test::fits(language, made({.lower = Bound{decimal("1").value()}}), "1.0000000000000000001"));
    const NumberSet fives = {.multiples_of = {decimal("5").value()}};
    CHECK(test::fits(language, made(fives), "123456789012345"));
    CHECK(!test::fits(language, made(fives), "883117850724897000000000")); // a double that is not a multiple
    CHECK(!test::fits(language, made(fives), "92468623949646770.0000"));
    CHECK(!test::fits(language, made({.kind = NumberKind::fraction}), "6797351527696650.4"));
    CHECK(test::fits(language, made({.kind = NumberKind::fraction}), "0.000001234567890123"));
}

TEST_CASE("large divisors, and several together") {
    Language language;
    const auto made = [&](std::vector<Decimal> divisors) {
        return json_number(language, {.multiples_of = std::move(divisors)}).value();
    };
    const Expression large = made({decimal("999").value()});
    CHECK(test::fits(language, large, "9990000"));
    CHECK(!test::fits(language, large, "-9991"));
    CHECK(test::fits(language, large, "1998"));
    CHECK(!test::fits(language, large, "1999"));
    const Expression both = made({decimal("37").value(), decimal("23").value()});
    CHECK(test::fits(language, both, "851"));
    CHECK(!test::fits(language, both, "851.5"));
    CHECK(!test::fits(language, both, "37"));
    const Expression hundreds = made({decimal("0.25").value(), decimal("100").value()});
    CHECK(test::fits(language, hundreds, "-700.0"));
    CHECK(!test::fits(language, hundreds, "50"));
}

TEST_CASE("multiples of large divisors have up to 15 digits, or are refused") {
    Language language;
    const auto made = [&](std::string_view divisor, std::optional<std::string_view> min,
                          std::optional<std::string_view> max = std::nullopt) {
        NumberSet set = {.kind = NumberKind::integer, .multiples_of = {decimal(divisor).value()}};
        if (min)
            set.lower = Bound{decimal(*min).value()};
        if (max)
            set.upper = Bound{decimal(*max).value()};
        return json_number(language, set);
    };
    const Expression hours = made("7200", "1700000000").value();
    CHECK(test::fits(language, hours, "1700006400"));
    CHECK(!test::fits(language, hours, "1700006500"));
    CHECK(!test::fits(language, hours, "1699999200"));
    CHECK(test::fits(language, made("3600", {}).value(), "999999999997200"));
    const Expression rounded = made("10000", "10000000000").value();
    CHECK(test::fits(language, rounded, "10000010000"));
    CHECK(test::fits(language, rounded, "123456789010000"));
    CHECK(!test::fits(language, rounded, "1234567890110000")); // 16 digits
    CHECK(!test::fits(language, rounded, "10000010001"));
    const Expression prime = made("1021", {}).value(); // with nearly as many states as are allowed
    CHECK(test::fits(language, prime, "2042"));
    CHECK(test::fits(language, prime, "-999999999999080"));
    CHECK(!test::fits(language, prime, "999999999999081"));
    CHECK(test::fits(language, made("997", "0", "9223372036854775807").value(), "9970"));
    CHECK(test::fits(language, made("331", "1700000000").value(), "1700000112"));
    const Expression on_both_sides = made("101", "-10100").value();
    CHECK(test::fits(language, on_both_sides, "-10100"));
    CHECK(test::fits(language, on_both_sides, "101"));
    CHECK(!test::fits(language, on_both_sides, "-10201"));
    CHECK(made("997", "1700000000").error().kind == ErrorKind::unsupported); // too many states
    CHECK(made("9973", {}).error().kind == ErrorKind::unsupported);
    CHECK(made("5", "10000000000000000").error().kind == ErrorKind::unsupported);
    CHECK(made("997", "1", "996").value() == nothing);
    CHECK(made("5", "10000000000000001", "10000000000000004").value() == nothing);
}

TEST_CASE("wide ranges, and empty sets") {
    Language language;
    const auto bounds = [](std::string_view min, std::string_view max) {
        return NumberSet{.kind = NumberKind::integer,
                         .lower = Bound{decimal(min).value()},
                         .upper = Bound{decimal(max).value()}};
    };
    const Expression wide =
        json_number(language, bounds("-9223372036854775808", "18446744073709551615")).value();
    CHECK(test::fits(language, wide, "18446744073709551615"));
    CHECK(!test::fits(language, wide, "18446744073709551616"));
    CHECK(test::fits(language, wide, "-9223372036854775808"));
    CHECK(!test::fits(language, wide, "-9223372036854775809"));
    CHECK(json_number(language, bounds("3", "2")).value() == nothing);
    CHECK(json_number(language, {.kind = NumberKind::integer,
                                 .lower = Bound{decimal("0.2").value()},
                                 .upper = Bound{decimal("0.9").value()}})
              .value() == nothing);
    const NumberSet fine{.kind = NumberKind::any, .multiples_of = {decimal("0.00000001").value()}};
    CHECK(json_number(language, fine).has_value());
    CHECK(json_number(language, {.multiples_of = {decimal("123456.789").value()}}).error().kind ==
          ErrorKind::unsupported);
}

TEST_CASE("numbers with one bound cost few steps") {
    for (const NumberSet& set :
         {NumberSet{.kind = NumberKind::integer, .lower = Bound{}}, NumberSet{.lower = Bound{}},
          NumberSet{.lower = Bound{.is_excluded = true}}}) {
        Language language;
        constexpr uint64_t steps = 1'000'000;
        language.set_step_budget(steps, true);
        REQUIRE(json_number(language, set).has_value());
        CHECK(steps - language.steps_left() < 150'000); // a third of shared_steps_max
    }
}

TEST_CASE("large divisors cost steps, and are refused when the budget is spent") {
    const Decimal divisor = decimal("997").value();
    for (const NumberSet& set : {NumberSet{.kind = NumberKind::integer, .multiples_of = {divisor}},
                                 NumberSet{.lower = Bound{}, .multiples_of = {divisor}}}) {
        Language language;
        constexpr uint64_t steps = 100'000'000;
        language.set_step_budget(steps, true);
        REQUIRE(json_number(language, set).has_value());
        CHECK(steps - language.steps_left() > 1'000'000); // targets of states alone are some 200'000
        language.set_step_budget(300'000, true);
        CHECK(json_number(language, set).error().kind == ErrorKind::unsupported);
    }
}

TEST_CASE("a single number has one notation") {
    Language language;
    const auto only = [&](NumberKind kind, std::string_view value) {
        const Bound bound = {decimal(value).value()};
        return json_number(language, {.kind = kind, .lower = bound, .upper = bound}).value();
    };
    CHECK(only(NumberKind::any, "-1.50") == language.literal("-1.5"));
    CHECK(only(NumberKind::integer, "1e2") == language.literal("100"));
    CHECK(only(NumberKind::integer, "0.5") == nothing);
    CHECK(only(NumberKind::fraction, "7.0") == nothing);
    CHECK(only(NumberKind::any, "1.7976931348623157e308") ==
          language.literal("17976931348623157" + std::string(292, '0')));
}

TEST_CASE("decimals are exact") {
    CHECK(decimal("1.50e2").value() == Decimal{.integer = "150"});
    CHECK(decimal("-0.00120").value() == Decimal{.is_negative = true, .fraction = "0012"});
    CHECK(decimal("12e-3").value() == Decimal{.fraction = "012"});
    CHECK(decimal("-0e5").value() == Decimal());
    CHECK(decimal("1e300").value().integer.size() == 301);
    CHECK(decimal("1e9999999999").error().kind == ErrorKind::unsupported);
    CHECK(decimal("1e-500").error().kind == ErrorKind::unsupported);
    for (const char* text : {"", "-", "1.", "x", "1e", "1 "})
        CHECK(decimal(text).error().kind == ErrorKind::invalid_argument);
    CHECK(compare(decimal("-2").value(), decimal("-10").value()) > 0);
    CHECK(compare(decimal("0.5").value(), decimal("0.45").value()) > 0);
    CHECK(compare(decimal("1.0").value(), decimal("1").value()) == 0);
}
