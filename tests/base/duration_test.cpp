#include "core/base/duration.hpp"
#include "tests/support/catch.hpp"

using etna::parse_duration;
using namespace std::chrono_literals;

TEST_CASE("durations are numbers with units, or seconds") {
    CHECK(parse_duration("90") == 90s);
    CHECK(parse_duration("0") == 0s);
    CHECK(parse_duration("1.5") == 1500ms);
    CHECK(parse_duration("250ms") == 250ms);
    CHECK(parse_duration("5m") == 5min);
    CHECK(parse_duration("1h30m10s") == 1h + 30min + 10s);
    CHECK(parse_duration("0.5h") == 30min);
    CHECK(parse_duration("2500us") == 2ms);
    CHECK(parse_duration("7000\u00b5s") == 7ms);
    CHECK(parse_duration("7000\u03bcs") == 7ms);
    CHECK(parse_duration("1s5000000ns") == 1005ms);
    CHECK(parse_duration("+1m") == 1min);
    CHECK(parse_duration("-1") == -1s);
    CHECK(parse_duration("-2m") == -2min);
}

TEST_CASE("other texts are not parsed as durations") {
    for (const char* text : {"", "-", "m", "5x", "5 m", "1h30", "--1", "nan", "inf", "1e3", "5m ", "1e400h",
                             "99999999999h", "1h-30m", "+", "+-1", "1n", "1u"}) {
        CAPTURE(text);
        CHECK(!parse_duration(text));
    }
}
