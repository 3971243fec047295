#include "core/base/utf8.hpp"
#include "tests/support/catch.hpp"

namespace etna {
namespace {

bool same(Utf8Step step, Utf8Kind kind, std::size_t bytes) {
    return step.kind == kind && step.bytes == bytes;
}

/// The definition, written the slow way: a code point, its shortest form.
std::string encoded(char32_t code_point) {
    std::string text;
    append_utf8(text, code_point);
    return text;
}

} // namespace

TEST_CASE("every scalar value is one valid character and comes back") {
    for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
        if (code_point >= 0xD800 && code_point <= 0xDFFF)
            continue;
        const std::string text = encoded(code_point);
        const std::size_t bytes = code_point < 0x80      ? 1
                                  : code_point < 0x800   ? 2
                                  : code_point < 0x10000 ? 3
                                                         : 4;
        const Utf8Step step = next_utf8(text);
        if (!same(step, Utf8Kind::valid, bytes) || code_point_of(text, bytes) != code_point)
            FAIL("U+" << std::hex << static_cast<uint32_t>(code_point));
    }
    CHECK(encoded(0x20AC) == "\xE2\x82\xAC");
    CHECK(encoded(0x1F999) == "\xF0\x9F\xA6\x99");
}

TEST_CASE("invalid UTF-8 is split into maximal subparts") {
    // Unicode Standard 15, tables 3-8 to 3-11.
    CHECK(same(next_utf8("\xC0\xAF"), Utf8Kind::invalid, 1));
    CHECK(same(next_utf8("\xE0\x80\xBF"), Utf8Kind::invalid, 1));
    CHECK(same(next_utf8("\xED\xA0\x80"), Utf8Kind::invalid, 1));
    CHECK(same(next_utf8("\xF4\x91\x92\x93"), Utf8Kind::invalid, 1));
    CHECK(same(next_utf8("\xFF"), Utf8Kind::invalid, 1));
    CHECK(same(next_utf8("\xE1\x80\xE2"), Utf8Kind::invalid, 2));
    CHECK(same(next_utf8("\xF1\x91\x92\x41"), Utf8Kind::invalid, 3));
}

TEST_CASE("an incomplete character at the end of the text is truncated, not invalid") {
    CHECK(same(next_utf8("\xC3"), Utf8Kind::truncated, 1));
    CHECK(same(next_utf8("\xE2\x96"), Utf8Kind::truncated, 2));
    CHECK(same(next_utf8("\xF0\x9F\xA6"), Utf8Kind::truncated, 3));
    CHECK(same(next_utf8("\xF0\x80"), Utf8Kind::invalid, 1));
}

TEST_CASE("the valid prefix ends at the first invalid byte") {
    CHECK(valid_utf8_prefix("") == 0);
    CHECK(valid_utf8_prefix("a\u00e9\u20ac") == 6);
    CHECK(valid_utf8_prefix("a\u00e9\xFFz") == 3);
    CHECK(valid_utf8_prefix("ab\xE2\x82") == 2);
}

TEST_CASE("every invalid stretch is repaired by one U+FFFD") {
    CHECK(repaired_utf8("snow \xe2\x98\x83") == "snow \xe2\x98\x83");
    CHECK(repaired_utf8("a\xff\xfe"
                        "b") == "a\xef\xbf\xbd\xef\xbf\xbd"
                                "b");
    CHECK(repaired_utf8("\xe2\x98") == "\xef\xbf\xbd"); // cut off
    CHECK(repaired_utf8("").empty());
}

} // namespace etna
