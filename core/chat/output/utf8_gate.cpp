#include "core/chat/output/utf8_gate.hpp"

namespace etna::chat::output {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Bytes of the character that `first` begins; 0: none does.
std::size_t length_of(unsigned char first) {
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return 0;
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// Whether `next` may follow `part` (Unicode Standard 15, table 3-7).
bool may_follow(std::string_view part, unsigned char next) {
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (part.size() == 1) {
        const auto first = static_cast<unsigned char>(part.front());
        low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : low;
        high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : high;
    }
    return next >= low && next <= high;
}

} // namespace

void Utf8Gate::push(std::string_view bytes, std::string& text) {
    for (const char byte : bytes) {
        if (!part_.empty() && !may_follow(part_, static_cast<unsigned char>(byte)))
            finish(text);
        if (part_.empty()) {
            expected_ = length_of(static_cast<unsigned char>(byte));
            if (expected_ == 0) {
                text += replacement;
                continue;
            }
        }
        part_ += byte;
        if (part_.size() == expected_) {
            text += part_;
            part_.clear();
        }
    }
}

void Utf8Gate::finish(std::string& text) {
    if (!part_.empty())
        text += replacement;
    part_.clear();
}

} // namespace etna::chat::output
