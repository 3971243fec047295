#include "core/base/special_matcher.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace etna {
namespace {

bool finds(const SpecialMatcher& matcher, std::string_view text, std::size_t from, std::size_t begin,
           std::size_t end, TokenId token) {
    const auto match = matcher.find(text, from);
    return match && match->begin == begin && match->end == end && match->token == token;
}

} // namespace

TEST_CASE("the leftmost name is found, and the longest there") {
    SpecialMatcher matcher;
    matcher.add("<a>", 1);
    matcher.add("<a><b>", 2);
    matcher.add("b><", 3);
    matcher.finish();
    CHECK(finds(matcher, "x<a>y", 0, 1, 4, 1));
    CHECK(finds(matcher, "x<a><b>y", 0, 1, 7, 2));
    CHECK(finds(matcher, "<a><b", 0, 0, 3, 1));
    CHECK(finds(matcher, "b><a>", 0, 0, 3, 3));
    CHECK(finds(matcher, "<a><a>", 1, 3, 6, 1));
    CHECK_FALSE(matcher.find("<a", 0));
    CHECK_FALSE(matcher.find("", 0));
}

TEST_CASE("empty and overlong names are never found; the first of equal names stays") {
    SpecialMatcher matcher;
    matcher.add("", 1);
    const std::string longest(SpecialMatcher::longest_name_bytes, 'x');
    matcher.add(longest + "x", 2);
    matcher.finish();
    CHECK_FALSE(matcher.find(longest + "x", 0));
    matcher.add(longest, 3);
    matcher.add(longest, 4);
    matcher.finish();
    CHECK(finds(matcher, longest, 0, 0, longest.size(), 3));
}

TEST_CASE("no name matches across a barrier, but for those that pass it") {
    SpecialMatcher matcher;
    matcher.add("<a>", 1);
    matcher.add("<a><b>", 2);
    matcher.add("<think>", 3, AtBarrier::passes);
    matcher.finish();
    const auto token_at = [&](std::string_view text, std::vector<std::size_t> barriers) {
        const auto match = matcher.find(text, 0, barriers);
        return match ? std::optional(match->token) : std::nullopt;
    };
    CHECK(token_at("<a><b>", {}) == 2U);
    CHECK(token_at("<a><b>", {0, 6, 9}) == 2U); // at its ends
    CHECK(token_at("<a><b>", {5}) == 1U);       // the longest that ends before it
    CHECK(token_at("<a><b>", {3}) == 1U);
    CHECK_FALSE(token_at("<a><b>", {1}));
    CHECK_FALSE(token_at("<a>", {2}));
    CHECK(token_at("<a><a>", {1}) == 1U); // the second one
    CHECK(token_at("<think>", {1}) == 3U);
}

TEST_CASE("only matches that begin before `until` are found") {
    SpecialMatcher matcher;
    matcher.add("<a>", 1);
    matcher.finish();
    CHECK_FALSE(matcher.find("xx<a>", 0, {}, 2));
    CHECK(matcher.find("xx<a>", 0, {}, 3)->begin == 2); // it may end later
}

TEST_CASE("a proper prefix is shorter than a name") {
    SpecialMatcher matcher;
    matcher.add("<a>", 1);
    matcher.add("<a><b>", 2);
    matcher.finish();
    CHECK(matcher.is_proper_prefix("<"));
    CHECK(matcher.is_proper_prefix("<a>"));
    CHECK_FALSE(matcher.is_proper_prefix("<a><b>"));
    CHECK_FALSE(matcher.is_proper_prefix("a>"));
}

} // namespace etna
