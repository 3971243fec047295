#include "core/text/stop_matcher.hpp"
#include "tests/support/catch.hpp"

#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::text {
namespace {

struct Outcome {
    std::string text;
    std::optional<std::size_t> stop;
    bool operator==(const Outcome&) const = default;
};

/// The definition, without a stream: the stop that ends first, the longest of those.
Outcome expected(const std::string& text, const std::vector<std::string>& stops) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::optional<std::size_t> best;
        for (std::size_t i = 0; i < stops.size(); ++i) {
            const bool ends_here = !stops[i].empty() && text.substr(0, end).ends_with(stops[i]);
            if (ends_here && (!best || stops[i].size() > stops[*best].size()))
                best = i;
        }
        if (best)
            return {text.substr(0, end - stops[*best].size()), best};
    }
    return {text, std::nullopt};
}

/// Feeds pieces of random length, none as well.
Outcome streamed(const std::string& text, const std::vector<std::string>& stops, std::mt19937& random) {
    StopMatcher matcher(stops);
    std::string shown;
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t bytes = std::min<std::size_t>(random() % 4, text.size() - position);
        shown += matcher.push(text.substr(position, bytes));
        position += bytes;
    }
    shown += matcher.flush();
    return {shown, matcher.matched()};
}

} // namespace

TEST_CASE("text is returned as soon as it cannot be part of a stop") {
    StopMatcher matcher({"STOP", "\n\n"});
    CHECK(matcher.push("one S") == "one ");
    CHECK(matcher.push("TO").empty());
    CHECK(matcher.push("RE\n") == "STORE");
    CHECK_FALSE(matcher.matched());
    CHECK(matcher.push("x") == "\nx");
    CHECK(matcher.push("ySTOPz") == "y");
    CHECK(matcher.matched() == 0U);
    CHECK(matcher.push("more").empty());
    CHECK(matcher.flush().empty());
}

TEST_CASE("flush() returns the held-back text") {
    StopMatcher matcher({"STOP"});
    CHECK(matcher.push("a ST") == "a ");
    CHECK(matcher.flush() == "ST");
    CHECK_FALSE(matcher.matched());
}

TEST_CASE("no stops and empty stops let everything through") {
    StopMatcher none({});
    CHECK(none.push("abc") == "abc");
    StopMatcher empty({"", "b"});
    CHECK(empty.push("abc") == "a");
    CHECK(empty.matched() == 1U);
}

TEST_CASE("a character of a stop is never split") {
    StopMatcher matcher({"\u00e9\u00e8"});
    CHECK(matcher.push("x\u00e9") == "x");
    CHECK(matcher.push("\u00ea") == "\u00e9\u00ea"); // shares its first byte with the stop's second character
}

TEST_CASE("a stream split anywhere gives the result of the definition") {
    std::mt19937 random(11);
    for (int round = 0; round < 20000; ++round) {
        const auto word = [&](std::size_t longest) {
            std::string text;
            for (std::size_t n = random() % (longest + 1); n > 0; --n)
                text += static_cast<char>('a' + random() % 2);
            return text;
        };
        std::vector<std::string> stops(random() % 4);
        for (std::string& stop : stops)
            stop = word(5);
        const std::string text = word(30);
        const Outcome want = expected(text, stops);
        const Outcome got = streamed(text, stops, random);
        INFO(fmt::format("text {:?}, stops {}, expected {:?}, got {:?}", text, stops, want.text, got.text));
        REQUIRE(got.text == want.text);
        // Either of two equal stops may be reported.
        REQUIRE(got.stop.has_value() == want.stop.has_value());
        if (want.stop)
            REQUIRE(stops[*got.stop] == stops[*want.stop]);
    }
}

} // namespace etna::text
