#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etna::text {

/// Byte-level BPE spells each byte as one printable character, so that vocabularies are plain text: printable
/// Latin-1 bytes map to themselves, the other 68 to U+0100 and up in order. Source: OpenAI GPT-2, encoder.py,
/// bytes_to_unicode().
std::string_view character_of_byte(uint8_t byte);

/// Returns `bytes` spelled in this alphabet.
std::string spell_bytes(std::string_view bytes);

/// Returns the bytes that `spelling` encodes; empty if a character is not in the alphabet.
std::optional<std::string> read_spelling(std::string_view spelling);

} // namespace etna::text
