#include "core/text/byte_alphabet.hpp"
#include "tests/support/catch.hpp"

namespace etna::text {

TEST_CASE("bytes are spelled as GPT-2 does") {
    // Known spellings from GPT-2's vocabulary.
    CHECK(spell_bytes(" hello\n") == "\u0120hello\u010a");
    CHECK(character_of_byte('A') == "A");
    CHECK(character_of_byte(0x00) == "\u0100");
    CHECK(character_of_byte(0x7F) == "\u0121");
    CHECK(character_of_byte(0xA0) == "\u0142");
    CHECK(character_of_byte(0xAD) == "\u0143");
    CHECK(character_of_byte(0xFF) == "\u00ff");
}

TEST_CASE("every byte survives the round trip") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte)
        all += static_cast<char>(byte);
    CHECK(read_spelling(spell_bytes(all)) == all);
}

TEST_CASE("a character outside the alphabet has no bytes") {
    CHECK_FALSE(read_spelling(" "));
    CHECK_FALSE(read_spelling("\u0144"));
    CHECK_FALSE(read_spelling("\u20ac"));
    CHECK_FALSE(read_spelling("\xFF"));
}

} // namespace etna::text
