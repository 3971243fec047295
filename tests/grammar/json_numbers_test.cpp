// Sets of JSON numbers against plain arithmetic in thousandths, over all short numbers.

#include "core/grammar/json_numbers.hpp"
#include "tests/support/catch.hpp"

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
                if (fraction % 100 == 0)
                    all.push_back({fmt::format("{}{}.{}", sign, whole, fraction / 100),
                                   factor * (whole * unit + fraction)});
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
            if (least)
                is_expected = is_expected &&
                              (set.least->is_excluded ? one.thousandths > *least : one.thousandths >= *least);
            if (most)
                is_expected = is_expected &&
                              (set.most->is_excluded ? one.thousandths < *most : one.thousandths <= *most);
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
