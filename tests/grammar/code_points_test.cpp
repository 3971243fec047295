// Sets of characters, as UTF-8 and within JSON strings.

#include "core/base/utf8.hpp"
#include "core/grammar/code_points.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::grammar;

namespace {

bool is_surrogate(char32_t one) {
    return one >= 0xD800 && one <= 0xDFFF;
}

std::string encoded(char32_t one) {
    std::string text;
    append_utf8(text, one);
    return text;
}

/// The borders of the encoding and of the set, and some from anywhere.
std::vector<char32_t> sample_code_points(const CodePoints& set, std::mt19937& random) {
    std::vector<char32_t> all = {0,      0x1F,    0x20,    '"',     '\\',    0x7E,     0x7F,
                                 0x80,   0x7FF,   0x800,   0xFFF,   0x1000,  0xD7FF,   0xE000,
                                 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF};
    for (const CodePoints::Range& range : set.ranges()) {
        for (const char32_t border : {range.first, range.last}) {
            all.push_back(border == 0 ? 0 : border - 1);
            all.push_back(border);
            all.push_back(border == code_point_max ? border : border + 1);
        }
    }
    for (int i = 0; i < 200; ++i)
        all.push_back(random() % (code_point_max + 1));
    std::erase_if(all, is_surrogate);
    return all;
}

} // namespace

TEST_CASE("sets of code points become UTF-8, and characters of JSON strings") {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        CodePoints set;
        for (int i = 0; i < 3; ++i) {
            const char32_t bound =
                std::array<char32_t, 4>{0x80, 0x900, 0x10000, code_point_max}[random() % 4];
            const char32_t a = random() % (bound + 1);
            const char32_t b = std::min<char32_t>(a + random() % (1U << (random() % 20)), code_point_max);
            set.add(a, b);
        }
        Language language;
        const Expression plain = utf8(language, set);
        const Expression in_json = json_character(language, set);
        const CodePoints others = set.complement();
        for (const char32_t one : sample_code_points(set, random)) {
            CAPTURE(round, static_cast<uint32_t>(one));
            REQUIRE(test::fits(language, plain, encoded(one)) == set.contains(one));
            REQUIRE(others.contains(one) != set.contains(one));
            const std::string quoted = nlohmann::json(encoded(one)).dump();
            REQUIRE(test::fits(language, in_json, quoted.substr(1, quoted.size() - 2)) == set.contains(one));
            REQUIRE('"' + json_escaped(encoded(one)) + '"' == quoted);
        }
        CHECK(set.complement().complement() == set);
        CHECK(set.without(set).is_empty());
    }
}

TEST_CASE("byte sequences that UTF-8 forbids are no characters") {
    Language language;
    const Expression any = utf8(language, CodePoints::all());
    for (const char* bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                              "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF", "\xE2\x82"})
        CHECK(!test::fits(language, any, bytes));
    CHECK(CodePoints::all() == CodePoints{{0, 0xD7FF}, {0xE000, code_point_max}});
    CHECK(CodePoints::all().complement().is_empty());
}
