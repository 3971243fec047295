#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {

/// Interned texts and sets of texts, identified by number. A text is stored as another text plus one byte.
class TextSets {
public:
    static constexpr uint32_t empty_text = 0; ///< the empty text
    static constexpr uint32_t empty_set = 0;  ///< the empty set

    uint32_t longer(uint32_t text, uint8_t byte);
    uint32_t with(uint32_t set, uint32_t text);

    [[nodiscard]] bool has(uint32_t set, uint32_t text) const;
    [[nodiscard]] uint32_t size(uint32_t set) const { return static_cast<uint32_t>(sets_[set].size()); }
    /// Returns the remainders, after `text`, of the texts of a set that begin with it.
    [[nodiscard]] std::vector<std::string> rests(uint32_t set, uint32_t text) const;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    struct Text {
        uint32_t before = 0;
        uint32_t size = 0;
        uint8_t last = 0;
    };

    std::vector<Text> texts_ = {{}};
    std::map<std::pair<uint32_t, uint8_t>, uint32_t> longer_;
    std::vector<std::vector<uint32_t>> sets_ = {{}}; ///< ascending
    std::map<std::vector<uint32_t>, uint32_t> set_numbers_ = {{{}, empty_set}};
    std::size_t bytes_ = 0;
};

} // namespace etna::grammar
