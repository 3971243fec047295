// The input of a custom tool call, parsed incrementally from its JSON arguments.
#include "core/base/json.hpp"
#include "core/base/utf8.hpp"
#include "server/api/custom_input.hpp"
#include "server/api/tools.hpp"
#include "server/base/json.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::server;

namespace {

/// Pushes the JSON in pieces of `piece_bytes`. Every piece of text must be valid UTF-8.
std::string push_in_pieces(std::string_view json, std::size_t piece_bytes) {
    CustomInput input;
    std::string text;
    for (std::size_t i = 0; i < json.size(); i += piece_bytes) {
        const std::string delta = input.push(json.substr(i, piece_bytes));
        CHECK(valid_utf8_prefix(delta) == delta.size());
        text += delta;
    }
    return text;
}

/// The JSON string of a character, with or without \\u escapes.
std::string json_string(uint32_t character, std::mt19937& random) {
    std::string plain;
    append_utf8(plain, character);
    const bool is_ascii_only = random() % 2 == 0;
    return Json(plain).dump(-1, ' ', is_ascii_only);
}

} // namespace

TEST_CASE("the input equals that of a JSON parser for any split of the arguments") {
    std::mt19937 random(7);
    const std::vector<uint32_t> kinds = {'a',  '"',  '\\',   '\n',   1,       '/',     '}',
                                         0x7F, 0xE9, 0x20AC, 0xFFFD, 0x1F600, 0x10FFFF};
    for (int round = 0; round < 300; ++round) {
        std::string json = round % 2 == 0 ? R"({"input":")" : "{ \"input\"\t: \"";
        for (std::size_t i = random() % 12; i > 0; --i) {
            const std::string quoted = json_string(kinds[random() % kinds.size()], random);
            json += quoted.substr(1, quoted.size() - 2);
        }
        json += round % 3 == 0 ? "\"}" : "\" }";
        CAPTURE(json);
        const std::string expected = etna::parse_json(json)["input"];
        for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, json.size()})
            CHECK(push_in_pieces(json, piece) == expected);
    }
}

TEST_CASE("truncated arguments yield the input up to the truncation") {
    CHECK(push_in_pieces(R"({"input": "ab\)", 1) == "ab");
    CHECK(push_in_pieces(R"({"input": "ab\u00)", 1) == "ab");
    CHECK(push_in_pieces(R"({"input": "ab\ud83d)", 1) == "ab");
    CHECK(push_in_pieces(R"({"inp)", 1).empty());
    CHECK(push_in_pieces("", 1).empty());
}

TEST_CASE("an unpaired surrogate becomes U+FFFD") {
    CHECK(push_in_pieces(R"({"input": "a\udc00b"})", 1) == "a\xEF\xBF\xBD"
                                                           "b");
    CHECK(push_in_pieces(R"({"input": "a\ud83db"})", 1) == "a\xEF\xBF\xBD"
                                                           "b");
    CHECK(push_in_pieces(R"({"input": "a\ud83d\ud83d\ude00"})", 1) == "a\xEF\xBF\xBD\xF0\x9F\x98\x80");
    CHECK(push_in_pieces(R"({"input": "a\ud83d\u0062"})", 1) == "a\xEF\xBF\xBD"
                                                                "b");
    CHECK(push_in_pieces(R"({"input": "a\ud83d"})", 1) == "a\xEF\xBF\xBD");
}

TEST_CASE("CustomInput inverts custom_arguments()") {
    for (const std::string text : {"", "a\n\"b\"", "\\u0041", "\xF0\x9F\x98\x80"})
        CHECK(push_in_pieces(api::custom_arguments(text), 1) == text);
    CHECK(push_in_pieces("{}", 1).empty());
    CHECK(push_in_pieces(R"({"input": 3})", 1).empty());
    CHECK(push_in_pieces("no JSON", 1).empty());
}
