// The text of a custom tool's call, read out of JSON that arrives in pieces.
#include "core/base/utf8.hpp"
#include "server/custom_input.hpp"
#include "server/json.hpp"
#include "server/responses/items.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::server;

namespace {

/// As it comes in pieces of so many bytes. Every piece has to be whole characters.
std::string read(std::string_view json, std::size_t piece) {
    CustomInput input;
    std::string text;
    for (std::size_t i = 0; i < json.size(); i += piece) {
        const std::string more = input.push(json.substr(i, piece));
        CHECK(valid_utf8_prefix(more) == more.size());
        text += more;
    }
    return text;
}

/// A character as JSON can spell it, in one of several ways.
std::string spelled(uint32_t character, std::mt19937& random) {
    std::string plain;
    append_utf8(plain, character);
    const bool is_ascii_only = random() % 2 == 0;
    return Json(plain).dump(-1, ' ', is_ascii_only);
}

} // namespace

TEST_CASE("texts of every kind are read as a parser of JSON reads them, wherever they are cut") {
    std::mt19937 random(7);
    const std::vector<uint32_t> kinds = {'a',  '"',  '\\',   '\n',   1,       '/',     '}',
                                         0x7F, 0xE9, 0x20AC, 0xFFFD, 0x1F600, 0x10FFFF};
    for (int round = 0; round < 300; ++round) {
        std::string json = round % 2 == 0 ? R"({"input":")" : "{ \"input\"\t: \"";
        for (std::size_t i = random() % 12; i > 0; --i) {
            const std::string one = spelled(kinds[random() % kinds.size()], random);
            json += one.substr(1, one.size() - 2);
        }
        json += round % 3 == 0 ? "\"}" : "\" }";
        CAPTURE(json);
        const std::string expected = etna::parse_json(json)["input"];
        for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, json.size()})
            CHECK(read(json, piece) == expected);
    }
}

TEST_CASE("what is cut off in the middle is told up to there") {
    CHECK(read(R"({"input": "ab\)", 1) == "ab");
    CHECK(read(R"({"input": "ab\u00)", 1) == "ab");
    CHECK(read(R"({"input": "ab\ud83d)", 1) == "ab");
    CHECK(read(R"({"inp)", 1).empty());
    CHECK(read("", 1).empty());
}

TEST_CASE("half of a pair of surrogates is told as what cannot be read") {
    CHECK(read(R"({"input": "a\udc00b"})", 1) == "a\xEF\xBF\xBD"
                                                 "b");
    CHECK(read(R"({"input": "a\ud83db"})", 1) == "a\xEF\xBF\xBD"
                                                 "b");
    CHECK(read(R"({"input": "a\ud83d\ud83d\ude00"})", 1) == "a\xEF\xBF\xBD\xF0\x9F\x98\x80");
    CHECK(read(R"({"input": "a\ud83d\u0062"})", 1) == "a\xEF\xBF\xBD"
                                                      "b");
    CHECK(read(R"({"input": "a\ud83d"})", 1) == "a\xEF\xBF\xBD");
}

TEST_CASE("an input becomes arguments and comes back") {
    for (const std::string text : {"", "a\n\"b\"", "\\u0041", "\xF0\x9F\x98\x80"})
        CHECK(responses::custom_input(responses::custom_arguments(text)) == text);
    CHECK_FALSE(responses::custom_input("{}"));
    CHECK_FALSE(responses::custom_input(R"({"input": 3})"));
    CHECK_FALSE(responses::custom_input("no JSON"));
}
