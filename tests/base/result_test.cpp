#include "core/base/result.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>

using namespace etna;

namespace {

Result<int> half(int number) {
    if (number % 2 != 0)
        return Error{ErrorKind::invalid_argument, "odd", "give an even number"};
    return number / 2;
}

Result<int> quarter(int number) {
    ETNA_TRY(const int once, half(number));
    ETNA_TRY(const int twice, half(once));
    return twice;
}

Status must_halve(int number) {
    ETNA_CHECK(quarter(number) ? Status() : Status(Error{ErrorKind::internal, "no"}));
    return {};
}

} // namespace

TEST_CASE("a result carries a value or an error through every return") {
    REQUIRE(quarter(8).value() == 2);
    const auto failed = quarter(6);
    REQUIRE_FALSE(failed.has_value());
    REQUIRE(failed.error().kind == ErrorKind::invalid_argument);
    REQUIRE(failed.error().hint == "give an even number");
    REQUIRE(must_halve(8).has_value());
    REQUIRE(must_halve(2).error().message == "no");
}

TEST_CASE("a result holds move-only values") {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
    const std::unique_ptr<int> taken = std::move(result).value();
    REQUIRE(*taken == 3);
}

TEST_CASE("while_doing() prefixes an error and preserves its kind and hint") {
    const Error error = Error{ErrorKind::io, "disk full", "free some"}.while_doing("saving x");
    REQUIRE(error.message == "saving x: disk full");
    REQUIRE(error.kind == ErrorKind::io);
    REQUIRE(error.hint == "free some");
}
