#include "core/base/utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace etna {
namespace {

uint8_t byte_at(std::string_view text, std::size_t index) {
    return static_cast<uint8_t>(text[index]);
}

/// Properties of a lead byte: the character's length in bytes, and the range of its second byte (Unicode
/// Standard, table 3-7). Length zero if the byte is not a lead byte.
struct Lead {
    std::size_t bytes;
    uint8_t second_low;
    uint8_t second_high;
};

Lead lead_of(uint8_t byte) {
    if (byte < 0x80)
        return {1, 0, 0};
    if (byte >= 0xC2 && byte <= 0xDF)
        return {2, 0x80, 0xBF};
    if (byte >= 0xE0 && byte <= 0xEF) {
        return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
                static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
                static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
    }
    return {0, 0, 0};
}

} // namespace

Utf8Step next_utf8(std::string_view text) {
    const Lead lead = lead_of(byte_at(text, 0));
    if (lead.bytes == 0)
        return {Utf8Kind::invalid, 1};
    for (std::size_t i = 1; i < lead.bytes; ++i) {
        if (i == text.size())
            return {Utf8Kind::truncated, i};
        const uint8_t low = i == 1 ? lead.second_low : 0x80;
        const uint8_t high = i == 1 ? lead.second_high : 0xBF;
        if (byte_at(text, i) < low || byte_at(text, i) > high)
            return {Utf8Kind::invalid, i};
    }
    return {Utf8Kind::valid, lead.bytes};
}

std::size_t valid_utf8_prefix(std::string_view text) {
    std::size_t position = 0;
    while (position < text.size()) {
        const Utf8Step step = next_utf8(text.substr(position));
        if (step.kind != Utf8Kind::valid)
            break;
        position += step.bytes;
    }
    return position;
}

std::size_t characters_in(std::string_view text) {
    constexpr unsigned char prefix_mask = 0xC0;
    constexpr unsigned char continuation = 0x80;
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & prefix_mask) != continuation;
    }));
}

std::string repaired_utf8(std::string_view text) {
    std::string repaired;
    repaired.reserve(text.size());
    while (!text.empty()) {
        const Utf8Step step = next_utf8(text);
        repaired += step.kind == Utf8Kind::valid ? text.substr(0, step.bytes) : replacement_character;
        text.remove_prefix(step.bytes);
    }
    return repaired;
}

void append_utf8(std::string& text, char32_t code_point) {
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
        return;
    }
    const int continuation_bytes = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    const char32_t lead_marks[] = {0xC0, 0xE0, 0xF0};
    text += static_cast<char>(lead_marks[continuation_bytes - 1] | (code_point >> (6 * continuation_bytes)));
    for (int i = continuation_bytes - 1; i >= 0; --i)
        text += static_cast<char>(0x80 | ((code_point >> (6 * i)) & 0x3F));
}

char32_t code_point_of(std::string_view text, std::size_t bytes) {
    if (bytes == 1)
        return byte_at(text, 0);
    char32_t code_point = byte_at(text, 0) & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i)
        code_point = (code_point << 6) | (byte_at(text, i) & 0x3FU);
    return code_point;
}

} // namespace etna
