#include "core/text/byte_alphabet.hpp"

#include "core/base/utf8.hpp"

#include <array>

namespace etna::text {
namespace {

constexpr char32_t alphabet_end = 0x100 + 68; // one past the last character of the alphabet

bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<std::string, 256> characters;                ///< by byte
    std::array<std::optional<uint8_t>, alphabet_end> bytes; ///< by code point

    Alphabet() {
        char32_t next_substitute = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const char32_t code_point = stands_for_itself(byte) ? byte : next_substitute++;
            append_utf8(characters[byte], code_point);
            bytes[code_point] = static_cast<uint8_t>(byte);
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet instance;
    return instance;
}

} // namespace

std::string_view character_of_byte(uint8_t byte) {
    return alphabet().characters[byte];
}

std::string spell_bytes(std::string_view bytes) {
    std::string spelling;
    spelling.reserve(2 * bytes.size());
    for (const char byte : bytes)
        spelling += character_of_byte(static_cast<uint8_t>(byte));
    return spelling;
}

std::optional<std::string> read_spelling(std::string_view spelling) {
    std::string bytes;
    bytes.reserve(spelling.size());
    while (!spelling.empty()) {
        const Utf8Step step = next_utf8(spelling);
        if (step.kind != Utf8Kind::valid)
            return std::nullopt;
        const char32_t code_point = code_point_of(spelling, step.bytes);
        if (code_point >= alphabet_end || !alphabet().bytes[code_point])
            return std::nullopt;
        bytes += static_cast<char>(*alphabet().bytes[code_point]);
        spelling.remove_prefix(step.bytes);
    }
    return bytes;
}

} // namespace etna::text
