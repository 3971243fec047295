#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etna::text {

/// Byte-level BPE writes each byte as one printable character, so that vocabularies are plain text: the
/// printable Latin-1 bytes stand for themselves, the other 68 are U+0100 and up in order. Source: OpenAI
/// GPT-2, encoder.py, bytes_to_unicode().
std::string_view character_of_byte(uint8_t byte);

/// The alphabet's spelling of `bytes`.
std::string spell_bytes(std::string_view bytes);

/// The bytes that `spelling` stands for; empty where a character is not of the alphabet.
std::optional<std::string> read_spelling(std::string_view spelling);

} // namespace etna::text
