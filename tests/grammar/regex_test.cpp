// Regular expressions against std::regex, over random patterns and all short texts, and what is said of wrong
// ones.

#include "core/grammar/json_text.hpp"
#include "core/grammar/regex.hpp"
#include "tests/grammar/description.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <regex>
#include <string>

#include <fmt/format.h>

using namespace etna;
using namespace etna::grammar;

namespace {

std::string random_pattern(std::mt19937& random, int depth) {
    const auto part = [&] { return random_pattern(random, depth - 1); };
    switch (random() % (depth == 0 ? 5 : 11)) {
    case 0:
        return "a";
    case 1:
        return "b";
    case 2:
        return ".";
    case 3:
        return "[^a]";
    case 4:
        return "[ab]";
    case 5:
        return part() + part();
    case 6:
        return "(" + part() + "|" + part() + ")";
    case 7:
        return "(?:" + part() + ")*";
    case 8:
        return "(?:" + part() + ")+?";
    case 9:
        return "(?:" + part() + ")?";
    default:
        return fmt::format("(?:{}){{{},{}}}", part(), random() % 2, 1 + random() % 2);
    }
}

bool matches(Language& language, Expression texts, std::string_view text) {
    return language.is_nullable(language.next(texts, text));
}

Expression parsed(Language& language, std::string_view pattern, Place place) {
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    const auto result = regex(language, pattern, alphabet, place);
    CAPTURE(pattern);
    REQUIRE(result.has_value());
    return *result;
}

Error refused(std::string_view pattern) {
    Language language;
    const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
    const auto result = regex(language, pattern, alphabet, Place::anywhere);
    CAPTURE(pattern);
    REQUIRE(!result.has_value());
    return result.error();
}

} // namespace

TEST_CASE("regular expressions match what the standard library's do") {
    std::mt19937 random(13);
    const auto texts = test::all_texts(5);
    for (int round = 0; round < 300; ++round) {
        const std::string pattern = random_pattern(random, 3);
        const std::string bound = (random() % 3 == 0 ? "^" : "") + pattern + (random() % 3 == 0 ? "$" : "");
        const std::string full = bound + "|" + (random() % 2 == 0 ? "^" : "") + random_pattern(random, 1);
        for (const std::string& one : {pattern, bound, full}) {
            Language language;
            const Expression whole = parsed(language, one, Place::whole);
            const Expression anywhere = parsed(language, one, Place::anywhere);
            const std::regex reference(one);
            for (const std::string& text : texts) {
                CAPTURE(one, text);
                REQUIRE(matches(language, whole, text) == std::regex_match(text, reference));
                REQUIRE(matches(language, anywhere, text) == std::regex_search(text, reference));
            }
        }
    }
}

TEST_CASE("escapes and classes mean what ECMAScript says") {
    struct Case {
        std::string_view pattern;
        std::string_view text;
        bool matches;
    };
    for (const Case& one : {Case{R"(\d{4}-\d\d)", "2026-11", true},
                            {R"(\d)", "a", false},
                            {R"(\D\S\W)", "a-!", true},
                            {R"(\w+)", "ab_9", true},
                            {R"(\s)", "\xC2\xA0", true},
                            {R"(\s)", "\xE2\x80\xA8", true},
                            {R"([\d_-]+)", "4-_", true},
                            {R"([a-cx-z]+)", "abcxyz", true},
                            {R"([a-cx-z])", "d", false},
                            {R"([\]\\^-]+)", "]\\^-", true},
                            {R"([^\n])", "\n", false},
                            {R"(.)", "\n", false},
                            {R"(.)", "\xF0\x9F\x98\x80", true},
                            {R"(..)", "\xC3\xA9\xC3\xA9", true},
                            {R"(\u00e9\x41\u{1F600}\ud83d\ude00)",
                             "\xC3\xA9"
                             "A\xF0\x9F\x98\x80\xF0\x9F\x98\x80",
                             true},
                            {R"(\t\n\r\f\v\0\cA)", std::string_view("\t\n\r\f\v\0\x01", 7), true},
                            {R"(\/\.\-\@)", "/.-@", true},
                            {R"(\"\'\ \#\:\_\%)", "\"' #:_%", true},
                            {R"(\Aab\Z)", "ab", true},
                            {R"((\Aab\z|c))", "ab", true},
                            {R"((?<year>\d)x)", "1x", true},
                            {R"([])", "a", false},
                            {R"([^])", "\n", true},
                            {R"()", "", true},
                            {R"(a{2})", "aa", true},
                            {R"(a{2,})", "a", false}}) {
        Language language;
        CAPTURE(one.pattern, one.text);
        CHECK(matches(language, parsed(language, one.pattern, Place::whole), one.text) == one.matches);
    }
}

TEST_CASE("Python's anchors bind a text like ECMAScript's") {
    Language language;
    for (const char* pattern : {R"(\Aab\Z)", R"(\Aab\z)", "^ab$"}) {
        const Expression texts = parsed(language, pattern, Place::anywhere);
        CAPTURE(pattern);
        CHECK(matches(language, texts, "ab"));
        for (const char* text : {"AabZ", "Aabz", "xab", "abx", ""})
            CHECK(!matches(language, texts, text));
    }
    CHECK(refused(R"(a\Ab)").message ==
          R"(the regular expression `a\Ab` has \A in the middle at character 2)");
    CHECK(refused(R"(a\zb)").kind == ErrorKind::unsupported);
    CHECK(refused(R"([\A])").kind == ErrorKind::invalid_argument);
    CHECK(refused(R"((\Z)*)").message == "the regular expression `(\\Z)*` has a repeated bound to the text's "
                                         "start or end at character 6");
}

TEST_CASE("letters that ECMAScript knows no escape of are refused by their name") {
    const Error error = refused(R"(x\h+)");
    CHECK(error.message == R"(the regular expression `x\h+` has the unknown escape \h at character 3)");
    CHECK(error.hint == "write h for the letter, or what it stands for as ECMAScript does");
    for (const char* pattern : {R"(\a)", R"(\e)", R"(\Q.\E)", R"(\G)", R"(\R)", R"(\K)", R"([\h])", R"(\c_)",
                                R"(\012)", R"([\00])"}) {
        CAPTURE(pattern);
        CHECK(refused(pattern).kind == ErrorKind::invalid_argument);
    }
}

TEST_CASE("in a JSON string a pattern speaks of characters, not of their escapes") {
    Language language;
    const Alphabet alphabet = [&](const CodePoints& set) { return json_character(language, set); };
    const Expression three = regex(language, "^.\\n[\"\\\\]$", alphabet, Place::anywhere).value();
    CHECK(matches(language, three, R"(x\n\")"));
    CHECK(matches(language, three, R"(\\\n\\)"));
    CHECK(!matches(language, three, "x\n\""));
    CHECK(!matches(language, three, R"(\n\n\")"));
}

TEST_CASE("what is no regular expression, or none that can be had, is named with its place") {
    CHECK(refused("a(b").message == "the regular expression `a(b` has a ( without its ) at character 4");
    CHECK(refused("a)").kind == ErrorKind::invalid_argument);
    CHECK(refused("[a").kind == ErrorKind::invalid_argument);
    CHECK(refused("*a").message == "the regular expression `*a` has nothing to repeat at character 1");
    CHECK(refused("a{3,2}").kind == ErrorKind::invalid_argument);
    CHECK(refused("a{x}").kind == ErrorKind::invalid_argument);
    CHECK(refused("[b-a]").kind == ErrorKind::invalid_argument);
    CHECK(refused("\\").kind == ErrorKind::invalid_argument);
    CHECK(refused("\\u{110000}").kind == ErrorKind::invalid_argument);
    CHECK(refused("\xFF").kind == ErrorKind::invalid_argument);
    CHECK(refused("(?=a)b").message == "the regular expression `(?=a)b` has a lookahead at character 3");
    CHECK(refused("(?<!a)b").kind == ErrorKind::unsupported);
    CHECK(refused("(a)\\1").kind == ErrorKind::unsupported);
    CHECK(refused("\\bword").kind == ErrorKind::unsupported);
    CHECK(refused("\\p{L}").kind == ErrorKind::unsupported);
    CHECK(refused("a^b").kind == ErrorKind::unsupported);
    CHECK(refused("a$b").kind == ErrorKind::unsupported);
    CHECK(refused("(^a)+").kind == ErrorKind::unsupported);
    CHECK(refused(std::string(1000, '(')).kind == ErrorKind::unsupported);
    CHECK(refused("a{1000000001}").kind == ErrorKind::unsupported);
}
