#include "core/text/special_matcher.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace etna::text {
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
    CHECK_FALSE(matcher.find(longest + "x", 0));
    matcher.add(longest, 3);
    matcher.add(longest, 4);
    CHECK(finds(matcher, longest, 0, 0, longest.size(), 3));
}

} // namespace etna::text
