#pragma once

#include "core/grammar/language.hpp"

#include <vector>

namespace etna::grammar {

constexpr char32_t code_point_max = 0x10FFFF;

/// A set of Unicode scalar values; it never contains surrogates.
class CodePoints {
public:
    struct Range {
        char32_t first = 0;
        char32_t last = 0;

        auto operator<=>(const Range&) const = default;
    };

    CodePoints() = default;
    CodePoints(std::initializer_list<Range> ranges);

    /// In any order; they may overlap.
    explicit CodePoints(std::vector<Range> ranges);

    static CodePoints all() { return {{0, code_point_max}}; }

    /// Precondition: first <= last <= code_point_max.
    void add(char32_t first, char32_t last);
    void add(char32_t one) { add(one, one); }
    void add(const CodePoints& other);

    [[nodiscard]] CodePoints complement() const;
    [[nodiscard]] CodePoints without(const CodePoints& other) const;
    [[nodiscard]] bool contains(char32_t one) const;
    [[nodiscard]] bool is_empty() const { return ranges_.empty(); }
    /// Ascending, with gaps between them.
    [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

    auto operator<=>(const CodePoints&) const = default;

private:
    std::vector<Range> ranges_;
};

/// One code point of the set, as UTF-8. Source: RFC 3629, section 4.
Expression utf8(Language& language, const CodePoints& set);

} // namespace etna::grammar
