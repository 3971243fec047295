// Text of models, tools and files on a terminal.

#include "cli/terminal/printable.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna::cli;

TEST_CASE("printable() escapes control characters on one line") {
    CHECK(printable("a\x1b[2Jb\r\n\tc\x7f") == "a\\x1b[2Jb\\x0d\\x0a\\x09c\\x7f");
    CHECK(printable("\xc2\x9b"
                    "31m\xc2\x80\xc2\x9f") == "\\u009b31m\\u0080\\u009f");
    CHECK(printable("\u202eabc\u2066\u2069\u202a") == "\\u202eabc\\u2066\\u2069\\u202a");
    CHECK(printable(std::string(1, '\0')) == "\\x00");
    CHECK(printable("\x9b"
                    "31m\xe2\x82") == "\\x9b31m\\xe2\\x82");
    const std::string text = "caf\u00e9 \u00a0 \U0001f469\u200d\U0001f467 \u05d0\u200e \u2065\u206a";
    CHECK(printable(text) == text);
    const std::string longer(100000, 'x');
    CHECK(printable(longer) == longer);
}

TEST_CASE("terminal_safe() keeps lines and replaces control characters") {
    CHECK(terminal_safe("one\n\ttwo\x1b[31m\r") == "one\n\ttwo\ufffd[31m\ufffd");
    CHECK(terminal_safe("\xc2\x9b"
                        "31m \u202e\u2067\x7f\xff") == "\ufffd31m \ufffd\ufffd\ufffd\ufffd");
    CHECK(terminal_safe("caf\u00e9 \U0001f642") == "caf\u00e9 \U0001f642");
}

TEST_CASE("table_text() aligns columns by what they take on a terminal") {
    CHECK(table_text({{"name", "size"}, {"\u6a21\u578b", "1"}, {"caf\u00e9", "10"}}, {1}) ==
          "name  size\n\u6a21\u578b     1\ncaf\u00e9    10\n");
}
