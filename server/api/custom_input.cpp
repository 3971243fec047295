#include "server/api/custom_input.hpp"

#include "core/base/utf8.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace etna::server {
namespace {

constexpr unsigned first_high = 0xD800; // UTF-16's surrogates
constexpr unsigned first_low = 0xDC00;
constexpr unsigned low_end = 0xE000;
constexpr unsigned first_supplementary = 0x10000;

/// Whether the JSON so far is the member's name, the colon and the opening quote.
bool begins_text(std::string_view seen) {
    constexpr std::string_view parts[] = {"{", "\"input\"", ":", "\""};
    for (const std::string_view part : parts) {
        const std::size_t begin = seen.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos || !seen.substr(begin).starts_with(part))
            return false;
        seen.remove_prefix(begin + part.size());
    }
    return seen.empty();
}

char unescaped(char letter) {
    constexpr std::string_view letters = "ntrbf";
    const std::size_t index = letters.find(letter);
    return index == std::string_view::npos ? letter : "\n\t\r\b\f"[index];
}

} // namespace

std::string CustomInput::push(std::string_view json) {
    std::string text = std::move(character_);
    character_.clear();
    for (const char byte : json)
        read(byte, text);
    const std::size_t complete = valid_utf8_prefix(text);
    constexpr std::size_t character_bytes_max = 4;
    if (text.size() - complete < character_bytes_max) {
        character_ = text.substr(complete);
        text.resize(complete);
    }
    return text;
}

void CustomInput::read(char byte, std::string& text) {
    switch (state_) {
    case State::before:
        seen_ += byte;
        if (byte == '"' && begins_text(seen_))
            state_ = State::text;
        break;
    case State::text:
        if (byte != '\\')
            end_surrogate(text);
        if (byte == '\\') {
            state_ = State::escape;
        } else if (byte == '"') {
            state_ = State::over;
        } else {
            text += byte;
        }
        break;
    case State::escape:
        state_ = byte == 'u' ? State::code : State::text;
        seen_.clear();
        if (byte != 'u') {
            end_surrogate(text);
            text += unescaped(byte);
        }
        break;
    case State::code: {
        constexpr std::size_t digits = 4;
        seen_ += byte;
        if (seen_.size() == digits)
            end_code(text);
        break;
    }
    case State::over:
        break;
    }
}

void CustomInput::end_code(std::string& text) {
    constexpr int hexadecimal = 16;
    state_ = State::text;
    const auto code = static_cast<unsigned>(std::strtoul(seen_.c_str(), nullptr, hexadecimal));
    const bool is_low = code >= first_low && code < low_end;
    if (is_low && surrogate_ != 0) {
        append_utf8(text, first_supplementary + ((surrogate_ - first_high) << 10U) + (code - first_low));
        surrogate_ = 0;
        return;
    }
    end_surrogate(text);
    if (code >= first_high && code < first_low) {
        surrogate_ = code;
    } else if (is_low) {
        text += replacement_character;
    } else {
        append_utf8(text, code);
    }
}

/// A lone high surrogate becomes the replacement character.
void CustomInput::end_surrogate(std::string& text) {
    if (std::exchange(surrogate_, 0) != 0)
        text += replacement_character;
}

} // namespace etna::server
