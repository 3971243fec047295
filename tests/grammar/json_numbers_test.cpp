// Sets of JSON numbers against plain arithmetic in thousandths, over all short numbers, and against doubles,
// over samples of long ones.

#include "core/grammar/json_numbers.hpp"
#include "core/grammar/multiples.hpp"
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

constexpr int64_t unit = 1000; ///< a whole, in thousandths

struct Sample {
    std::string text;
    int64_t thousandths = 0;
    bool is_integer = false; ///< without a point
};

/// Numbers between -130 and 130, with up to three digits behind the point.
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

bool fits(Language& language, Expression set, std::string_view text) {
    return language.is_nullable(language.next(set, text));
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

/// A number of the set with at least so many bytes, if it goes on for so long.
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

/// What a reader with doubles makes of it.
double read(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}

bool is_multiple(double value, double divisor) {
    return std::fmod(value, divisor) == 0;
}

/// Whether a reader with doubles finds a number in the set. Its divisors are sums of powers of two.
bool holds(const NumberSet& set, double value, double least, double most, double divisor) {
    const bool is_whole = std::floor(value) == value;
    return (set.kind == NumberKind::any || is_whole == (set.kind == NumberKind::integer)) &&
           (!set.least || (set.least->is_excluded ? value > least : value >= least)) &&
           (!set.most || (set.most->is_excluded ? value < most : value <= most)) &&
           (set.multiples_of.empty() || is_multiple(value, divisor)) &&
           (set.no_multiples_of.empty() || !is_multiple(value, divisor));
}

} // namespace

TEST_CASE("sets of numbers hold what arithmetic says") {
    std::mt19937 random(31);
    const auto all = samples();
    for (int round = 0; round < 60; ++round) {
        constexpr std::array kinds = {NumberKind::integer, NumberKind::any, NumberKind::fraction};
        NumberSet set{.kind = kinds[random() % kinds.size()]};
        std::optional<int64_t> least;
        std::optional<int64_t> most;
        std::optional<int64_t> divisor;
        std::optional<int64_t> no_divisor;
        if (random() % 3 != 0)
            least = random_value(random, 250);
        if (random() % 3 != 0)
            most = random_value(random, 333);
        if (random() % 3 == 0)
            divisor = random_divisor(random);
        if (random() % 4 == 0)
            no_divisor = random_divisor(random);
        if (least)
            set.least = {of_thousandths(*least), random() % 2 == 0};
        if (most)
            set.most = {of_thousandths(*most), random() % 2 == 0};
        if (divisor)
            set.multiples_of = {of_thousandths(*divisor)};
        if (no_divisor)
            set.no_multiples_of = {of_thousandths(*no_divisor)};
        Language language;
        const Expression numbers = json_number(language, set).value();
        const bool is_single = least && most && *least == *most && !divisor && !no_divisor;
        for (const Sample& one : all) {
            if (is_single && one.text.back() == '0' && one.text.find('.') != std::string::npos)
                continue; // a single number is written without them
            bool is_expected = is_of_kind(one, set.kind);
            if (least) {
                is_expected = is_expected &&
                              (set.least->is_excluded ? one.thousandths > *least : one.thousandths >= *least);
            }
            if (most) {
                is_expected = is_expected &&
                              (set.most->is_excluded ? one.thousandths < *most : one.thousandths <= *most);
            }
            if (divisor)
                is_expected = is_expected && one.thousandths % *divisor == 0;
            if (no_divisor)
                is_expected = is_expected && one.thousandths % *no_divisor != 0;
            CAPTURE(round, one.text, least.value_or(-1), most.value_or(-1), divisor.value_or(-1));
            REQUIRE(fits(language, numbers, one.text) == is_expected);
        }
    }
}

TEST_CASE("numbers are written as JSON says, and zero has no sign") {
    Language language;
    const Expression any = json_number(language, {}).value();
    const Expression integer = json_number(language, {.kind = NumberKind::integer}).value();
    for (const char* text : {"0", "-1", "1.5e10", "1E-3", "12345678901234567890", "-0.5"}) {
        CAPTURE(text);
        CHECK(fits(language, any, text));
    }
    for (const char* text : {"", "-", "-0", "01", "1.", ".5", "+1", "1e", "0x1", "1 "}) {
        CAPTURE(text);
        CHECK(!fits(language, any, text));
        CHECK(!fits(language, integer, text));
    }
    CHECK(fits(language, integer, "-12"));
    CHECK(!fits(language, integer, "1.0"));
    CHECK(!fits(language, integer, "1e3"));
}

TEST_CASE("all numbers are finite doubles, and have an end") {
    const auto bound = [](std::string_view value) { return Bound{decimal(value).value()}; };
    const NumberSet sets[] = {{},
                              {.kind = NumberKind::integer},
                              {.kind = NumberKind::fraction},
                              {.least = bound("0")},
                              {.most = bound("1e300")},
                              {.kind = NumberKind::integer, .most = bound("-5")},
                              {.least = bound("-1e308"), .most = bound("1e308")},
                              {.least = bound("0"), .most = bound("1e350")},
                              {.kind = NumberKind::integer, .least = bound("-1e350"), .most = bound("0")},
                              {.multiples_of = {decimal("0.5").value()}},
                              {.no_multiples_of = {decimal("3").value()}}};
    std::mt19937 random(7);
    for (const NumberSet& set : sets) {
        Language language;
        const Expression numbers = json_number(language, set).value();
        for (int round = 0; round < 40; ++round) {
            const std::string text = random_number(language, numbers, random, random() % 500);
            CAPTURE(text);
            REQUIRE(std::isfinite(read(text)));
            REQUIRE(text.size() < 800);
        }
    }
    Language language;
    const Expression any = json_number(language, {}).value();
    CHECK(fits(language, any, "1" + std::string(308, '0')));
    CHECK(fits(language, any, "-" + std::string(308, '9')));
    CHECK(fits(language, any, std::string(40, '9') + "e99"));
    CHECK(fits(language, any, "1.5e-99"));
    for (const char* text : {"1e100", "1e400", "9e99999999999"}) {
        CAPTURE(text);
        CHECK(!fits(language, any, text));
    }
    CHECK(!fits(language, any, std::string(309, '9')));
    CHECK(
        !fits(language, json_number(language, {.kind = NumberKind::integer}).value(), std::string(309, '9')));
    const Error error = json_number(language, {.least = bound("1e350"), .most = bound("1e350")}).error();
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message == "a number of 351 digits before its point is too large for readers of JSON");
}

TEST_CASE("numbers are in their set for readers with doubles as well") {
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
            set.least = exact;
        } else if (random() % 2 == 0) {
            set.most = exact;
        }
        if (random() % 3 == 0) {
            set.multiples_of = {decimal(divisor).value()};
        } else if (random() % 2 == 0) {
            set.no_multiples_of = {decimal(divisor).value()};
        }
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
            CAPTURE(text, bound, divisor, set.least.has_value(), set.most.has_value());
            REQUIRE(holds(set, read(text), read(bound), read(bound), read(divisor)));
        }
    }
}

TEST_CASE("numbers of more digits than doubles keep are left out where the digits decide") {
    Language language;
    const auto made = [&](const NumberSet& set) { return json_number(language, set).value(); };
    const Bound one = {decimal("1").value(), true};
    CHECK(fits(language, made({.most = one}), "0.999999999999999"));
    CHECK(!fits(language, made({.most = one}), "0.99999999999999999"));
    CHECK(!fits(language, made({.most = Bound{Decimal(), true}}), "-0.0"));
    CHECK(fits(language, made({.most = Bound{Decimal(), true}}), "-0.01"));
    CHECK(fits(language, made({.kind = NumberKind::integer, .least = one}), "12345678901234567890"));
    const Expression above =
        made({.kind = NumberKind::integer, .least = Bound{decimal("1e16").value(), true}});
    CHECK(!fits(language, above, "10000000000000001"));
    CHECK(fits(language, above, "10000000000000100"));
    CHECK(fits(language, made({.least = Bound{decimal("1").value()}}), "1.0000000000000000001"));
    const NumberSet fives = {.multiples_of = {decimal("5").value()}};
    CHECK(fits(language, made(fives), "123456789012345"));
    CHECK(!fits(language, made(fives), "883117850724897000000000")); // a double that is no multiple
    const NumberSet quarters = {.least = Bound{decimal("1e21").value()},
                                .multiples_of = {decimal("0.25").value()}};
    CHECK(fits(language, made(quarters), "1" + std::string(308, '0')));
    CHECK(!fits(language, made(fives), "92468623949646770.0000"));
    CHECK(!fits(language, made({.kind = NumberKind::fraction}), "6797351527696650.4"));
    CHECK(fits(language, made({.kind = NumberKind::fraction}), "0.000001234567890123"));
    CHECK(!fits(language, made({.no_multiples_of = {decimal("0.25").value()}}), "624171668298572.7"));
}

TEST_CASE("large divisors, and several at once") {
    Language language;
    const auto made = [&](std::vector<Decimal> divisors) {
        return json_number(language, {.multiples_of = std::move(divisors)}).value();
    };
    const Expression large = made({decimal("9999").value()});
    CHECK(fits(language, large, "99990000"));
    CHECK(!fits(language, large, "-99991"));
    CHECK(fits(language, large, "19998"));
    CHECK(!fits(language, large, "19999"));
    const Expression both = made({decimal("97").value(), decimal("89").value()});
    CHECK(fits(language, both, "8633"));
    CHECK(!fits(language, both, "8633.5"));
    CHECK(!fits(language, both, "97"));
    const Expression hundreds = made({decimal("0.25").value(), decimal("100").value()});
    CHECK(fits(language, hundreds, "-700.0"));
    CHECK(!fits(language, hundreds, "50"));
}

TEST_CASE("large divisors leave all digits that doubles keep, or say that they do not") {
    Language language;
    const auto made = [&](std::string_view divisor, std::optional<std::string_view> least,
                          std::optional<std::string_view> most = std::nullopt) {
        NumberSet set = {.kind = NumberKind::integer, .multiples_of = {decimal(divisor).value()}};
        if (least)
            set.least = Bound{decimal(*least).value()};
        if (most)
            set.most = Bound{decimal(*most).value()};
        return json_number(language, set);
    };
    const Expression hours = made("7200", "1700000000").value();
    CHECK(fits(language, hours, "1700006400"));
    CHECK(!fits(language, hours, "1700006500"));
    CHECK(!fits(language, hours, "1699999200"));
    CHECK(fits(language, made("3600", {}).value(), "999999999997200"));
    const Expression rounded = made("10000", "10000000000").value();
    CHECK(fits(language, rounded, "10000010000"));
    CHECK(fits(language, rounded, "123456789010000"));
    CHECK(!fits(language, rounded, "1234567890110000")); // 16 digits
    CHECK(!fits(language, rounded, "10000010001"));
    const Expression prime = made("9973", {}).value(); // of fewer digits, which no bound asks for
    CHECK(fits(language, prime, "19946"));
    CHECK(fits(language, prime, "99730000"));
    CHECK(fits(language, made("9973", "0", "9223372036854775807").value(), "99730"));
    const Expression on_both_sides = made("9973", "-99730").value(); // of fewer again
    CHECK(fits(language, on_both_sides, "-99730"));
    CHECK(fits(language, on_both_sides, "9973"));
    CHECK(!fits(language, on_both_sides, "-109703"));
    CHECK(made("9973", "1700000000").error().kind == ErrorKind::unsupported);
    CHECK(made("5", "10000000000000000").error().kind == ErrorKind::unsupported);
    CHECK(made("9973", "1", "9972").value() == nothing);
    CHECK(made("5", "10000000000000001", "10000000000000004").value() == nothing);
}

TEST_CASE("numbers far apart, and sets without any") {
    Language language;
    const auto bounds = [](std::string_view least, std::string_view most) {
        return NumberSet{.kind = NumberKind::integer,
                         .least = Bound{decimal(least).value()},
                         .most = Bound{decimal(most).value()}};
    };
    const Expression wide =
        json_number(language, bounds("-9223372036854775808", "18446744073709551615")).value();
    CHECK(fits(language, wide, "18446744073709551615"));
    CHECK(!fits(language, wide, "18446744073709551616"));
    CHECK(fits(language, wide, "-9223372036854775808"));
    CHECK(!fits(language, wide, "-9223372036854775809"));
    CHECK(json_number(language, bounds("3", "2")).value() == nothing);
    CHECK(json_number(language, {.kind = NumberKind::integer,
                                 .least = Bound{decimal("0.2").value()},
                                 .most = Bound{decimal("0.9").value()}})
              .value() == nothing);
    const NumberSet fine{.kind = NumberKind::any, .multiples_of = {decimal("0.00000001").value()}};
    CHECK(json_number(language, fine).has_value());
    CHECK(json_number(language, {.multiples_of = {decimal("123456.789").value()}}).error().kind ==
          ErrorKind::unsupported);
}

TEST_CASE("numbers with one bound take few steps") {
    for (const NumberSet& set :
         {NumberSet{.kind = NumberKind::integer, .least = Bound{}}, NumberSet{.least = Bound{}},
          NumberSet{.least = Bound{.is_excluded = true}}}) {
        Language language;
        constexpr uint64_t steps = 1'000'000;
        language.allow_steps(steps, true);
        REQUIRE(json_number(language, set).has_value());
        CHECK(steps - language.steps_left() < 150'000); // a third of shared_steps_max
    }
}

TEST_CASE("large divisors take steps, and are refused when there are none left") {
    const Decimal divisor = decimal("9973").value();
    for (const NumberSet& set : {NumberSet{.kind = NumberKind::integer, .multiples_of = {divisor}},
                                 NumberSet{.most = Bound{decimal("1e4").value()}, .multiples_of = {divisor}},
                                 NumberSet{.kind = NumberKind::integer,
                                           .least = Bound{},
                                           .most = Bound{decimal("99").value()},
                                           .no_multiples_of = {divisor}}}) {
        Language language;
        constexpr uint64_t steps = 100'000'000;
        language.allow_steps(steps, true);
        REQUIRE(json_number(language, set).has_value());
        CHECK(steps - language.steps_left() > 1'000'000); // targets of states alone are some 200'000
        language.allow_steps(1'000'000, true);
        CHECK(json_number(language, set).error().kind == ErrorKind::unsupported);
    }
}

TEST_CASE("a single number is written in one way") {
    Language language;
    const auto only = [&](NumberKind kind, std::string_view value) {
        const Bound bound = {decimal(value).value()};
        return json_number(language, {.kind = kind, .least = bound, .most = bound}).value();
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

TEST_CASE("decimals are rounded to so many digits") {
    const auto at_three = [](std::string_view value) { return rounded(decimal(value).value(), 3); };
    CHECK(at_three("12.3") == decimal("12.3").value());
    CHECK(at_three("-12345") == decimal("-12300").value());
    CHECK(at_three("0.0012354") == decimal("0.00124").value());
    CHECK(at_three("0.0012345") == decimal("0.00123").value());
    CHECK(at_three("-9.996") == decimal("-10").value());
    CHECK(at_three("99.96") == decimal("100").value());
    CHECK(at_three("0.9996") == decimal("1").value());
    CHECK(at_three("0").is_zero());
}
