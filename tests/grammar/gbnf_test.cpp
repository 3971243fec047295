// Grammars in GBNF: a JSON grammar against a JSON library, every construct of the notation, and the errors of
// wrong ones.

#include "core/grammar/gbnf.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;

namespace {

constexpr std::string_view json_grammar = R"(# every JSON text
root   ::= ws value ws
value  ::= object | array | string | number | "true" | "false" |
           "null"
object ::= "{" ws (
               string ws ":" ws value ws   # the first member
               ("," ws string ws ":" ws value ws)*
           )? "}"
array  ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\n\r]*
)";

/// A JSON text, mostly.
std::string random_text(std::mt19937& random, int depth) {
    const auto value = [&] { return random_text(random, depth - 1); };
    switch (random() % (depth == 0 ? 6 : 9)) {
    case 0:
        return "true";
    case 1:
        return std::to_string(static_cast<int>(random() % 200) - 100);
    case 2:
        return "\"a\\n\xC3\xA9\\u00e9\"";
    case 3:
        return "-0.5e+3";
    case 4:
        return "\"\"";
    case 5:
        return " null";
    case 6:
        return "[" + value() + " ,\n" + value() + "]";
    case 7:
        return "{\"k\": " + value() + ",\"l\":" + value() + "}";
    default:
        return "[" + value() + "]";
    }
}

Error gbnf_error(std::string_view grammar) {
    Language language;
    const auto result = gbnf(language, grammar);
    CAPTURE(grammar);
    REQUIRE(!result.has_value());
    return result.error();
}

} // namespace

TEST_CASE("a JSON grammar agrees with a JSON library on valid and damaged texts") {
    Language language;
    const auto grammar = gbnf(language, json_grammar);
    REQUIRE(grammar.has_value());
    std::mt19937 random(29);
    int valid = 0;
    int broken = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string text = random_text(random, 4);
        for (auto changes = random() % 3; changes > 0; --changes) {
            constexpr std::string_view letters = "{}[]\",:\\ 0-.e+n\x01\xC3t";
            const auto at = random() % text.size();
            if (random() % 2 == 0) {
                text[at] = letters[random() % letters.size()];
            } else {
                text.erase(at, 1);
                text += ' ';
            }
        }
        const bool is_json = nlohmann::json::accept(text);
        ++(is_json ? valid : broken);
        CAPTURE(text);
        REQUIRE(test::fits(language, *grammar, text) == is_json);
    }
    CHECK(valid > 500);
    CHECK(broken > 500);
    CHECK(!language.is_full());
}

TEST_CASE("every construct of the notation has its meaning") {
    struct Case {
        std::string_view grammar;
        std::string_view text;
        bool fits;
    };
    for (const Case& one :
         {Case{R"(root ::= "a" | "b")", "b", true},
          {"root ::= \"a\" |\n  \"b\"\n", "b", true},
          {"root ::= (\n  \"a\"\n  \"b\"\n)", "ab", true},
          {R"(root ::= | "x")", "", true},
          {R"(root ::= "a"{2})", "aa", true},
          {R"(root ::= "a"{2})", "a", false},
          {R"(root ::= "a"{2,})", "aaaa", true},
          {R"(root ::= "a"{ , 2 })", "aaa", false},
          {R"(root ::= "a"{1,2})", "aa", true},
          {R"(root ::= ("a" "b")+)", "abab", true},
          {R"(root ::= "a"? "b"*)", "bbb", true},
          {R"(root ::= [^a-c\]])", "d", true},
          {R"(root ::= [^a-c\]])", "]", false},
          {R"(root ::= [a-])", "-", true},
          {R"(root ::= .)", "\xF0\x9F\x98\x80", true},
          {R"(root ::= "\x41\u00e9\U0001F600\n\t\"\\")", "A\xC3\xA9\xF0\x9F\x98\x80\n\t\"\\", true},
          {"root ::= my-rule2\nmy-rule2 ::= \"x\" # end", "x", true},
          {"\n# first\nroot ::= a\n\na ::= \"(\" a \")\" | \"\"", "((()))", true},
          {"root ::= a\r\na ::= \"x\"\r\n", "x", true}}) {
        Language language;
        CAPTURE(one.grammar, one.text);
        const auto grammar = gbnf(language, one.grammar);
        REQUIRE(grammar.has_value());
        CHECK(test::fits(language, *grammar, one.text) == one.fits);
    }
}

TEST_CASE("an invalid grammar is refused with its position") {
    CHECK(gbnf_error("root = \"a\"").message == "the grammar, line 1, column 6: `::=` is missing");
    CHECK(gbnf_error("root ::= \"a\"\nx ::= [a").message == "the grammar, line 2, column 9: `]` is missing");
    CHECK(gbnf_error("root ::= other").message ==
          "the grammar, line 1, column 10: the rule `other` is undefined");
    CHECK(gbnf_error("a ::= \"x\"").message == "the grammar, line 1, column 1: the rule `root` is undefined");
    CHECK(gbnf_error("").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"a\"\nroot ::= \"b\"").message ==
          "the grammar, line 2, column 1: the rule `root` is defined twice");
    CHECK(gbnf_error("root ::= \"a").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= (\"a\"").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"a\" )").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"a\"{}").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"a\"{3,2}").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"a\"{99999999999}").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= [b-a]").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"\\q\"").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= \"\\uD800\"").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= <think>").message ==
          "the grammar, line 1, column 10: tokens cannot be named here");
    CHECK(gbnf_error("root ::= \"\xFF\"").kind == ErrorKind::invalid_argument);
    CHECK(gbnf_error("root ::= root \"a\" | \"a\"").message == "`root` is left-recursive");
    CHECK(gbnf_error("root ::= \"a\" root").message == "no text fits the grammar");
    CHECK(gbnf_error("root ::= " + std::string(1000, '(')).kind == ErrorKind::invalid_argument);
}

TEST_CASE("the example grammars of llama.cpp compile") {
    const char* const data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: GBNF examples (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "gbnf")) {
        if (entry.path().extension() != ".gbnf")
            continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        Language language;
        const auto grammar = gbnf(language, text);
        CAPTURE(entry.path().string(), grammar ? std::string() : grammar.error().message);
        CHECK(grammar.has_value());
        ++count;
    }
    CHECK(count >= 8);
}
