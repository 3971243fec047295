// Word wrap of streamed text on a terminal.

#include "cli/terminal/word_wrap.hpp"
#include "core/base/utf8.hpp"
#include "tests/support/catch.hpp"

#include <string>

using etna::cli::WordWrap;

namespace {

/// Wraps the text in one piece and letter by letter, which must agree.
std::string wrapped(const std::string& text, uint32_t columns) {
    WordWrap whole;
    std::string at_once = whole.add(text, columns);
    at_once += whole.finish();
    WordWrap streamed;
    std::string in_pieces;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t bytes = etna::next_utf8(rest).bytes;
        in_pieces += streamed.add(rest.substr(0, bytes), columns);
        rest.remove_prefix(bytes);
    }
    in_pieces += streamed.finish();
    CHECK(at_once == in_pieces);
    return at_once;
}

} // namespace

TEST_CASE("a word that does not fit begins the next line, without the spaces before it") {
    CHECK(wrapped("one two three", 7) == "one two\nthree");
    CHECK(wrapped("one two three", 8) == "one two\nthree");
    CHECK(wrapped("one two three", 6) == "one\ntwo\nthree");
    CHECK(wrapped("one   two", 5) == "one\ntwo");
    CHECK(wrapped("one two three", 80) == "one two three");
    CHECK(wrapped("one two \nthree  four ", 8) == "one two \nthree\nfour ");
    CHECK(wrapped("one two \nx", 7) == "one two\nx"); // a space past the last column would start a line
}

TEST_CASE("wrapped lines are indented if the terminal is wide enough") {
    const auto indented = [](const std::string& text, uint32_t columns) {
        WordWrap wrap(4);
        const std::string lines = wrap.add(text, columns);
        return lines + wrap.finish();
    };
    CHECK(indented("/x  one two three", 12) == "/x  one two\n    three");
    CHECK(indented("/x  one two three four", 9) == "/x  one\n    two\n    three\n    four");
    CHECK(indented("/x  one\nline of its own", 12) == "/x  one\nline of its\n    own");
    CHECK(indented("/x  one two three", 7) == "/x  one\ntwo\nthree"); // no room to indent
}

TEST_CASE("newlines, indentation and tabs are preserved") {
    CHECK(wrapped("a\n\n  - b c", 6) == "a\n\n  - b\nc");
    CHECK(wrapped("a\tbc", 10) == "a\tbc");
    CHECK(wrapped("a\tbcd", 10) == "a\nbcd");
}

TEST_CASE("a word longer than a line is left to the terminal, unbroken") {
    CHECK(wrapped("see https://example.org/a/long/one now", 10) ==
          "see\nhttps://example.org/a/long/one\nnow"); // 30 columns
    CHECK(wrapped("abcdefghij klm", 10) == "abcdefghij\nklm");
    CHECK(wrapped("abcdefghijklm nop qrst", 10) == "abcdefghijklm nop\nqrst"); // the terminal is in column 3
}

TEST_CASE("double-width characters take two columns, and lines break between them") {
    CHECK(wrapped("日本語日本語", 6) == "日本語\n日本語");
    CHECK(wrapped("日本語日本語", 7) == "日本語\n日本語");
    CHECK(wrapped("ab 日本語", 7) == "ab 日本\n語");
    CHECK(wrapped("e\u0301te\u0301 xyz", 7) == "e\u0301te\u0301 xyz"); // marks take none
    CHECK(wrapped("été xyz", 6) == "été\nxyz");
    CHECK(wrapped("ok 👍 👍", 5) == "ok 👍\n👍");
}

TEST_CASE("code is not broken") {
    const std::string code = "```cpp\nint main() { return 0; }\n```\n";
    CHECK(wrapped("some code:\n" + code + "and on it goes", 10) == "some code:\n" + code + "and on it\ngoes");
}

TEST_CASE("complete words are written at once, and the terminal may change its width") {
    WordWrap wrap;
    CHECK(wrap.add("one two", 20) == "one");
    CHECK(wrap.add(" three", 20) == " two");
    CHECK(wrap.add(" ", 10) == "\nthree");
    CHECK(wrap.add("four ", 30) == " four");
    CHECK(wrap.finish() == " ");
    CHECK(wrap.add("five six ", 4) == "five\nsix");
}
