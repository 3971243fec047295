// The filter wordwrap, with the line breaks of Python's textwrap.

#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

struct WrapStyle {
    std::size_t width = 79;
    bool breaks_long_words = true;
    bool breaks_at_hyphens = true;
};

bool is_gap(char32_t letter) {
    return letter < 0x80 &&
           std::string_view("\t\n\v\f\r ").find(static_cast<char>(letter)) != std::string_view::npos;
}

/// Whether it is a letter of any script or an underscore; digits are word characters but not letters.
bool is_letter(char32_t letter) {
    return is_word_letter(letter) && !is_decimal(letter);
}

/// Splits text at possible line breaks: into gaps and words, and words after hyphens and at dashes.
class Chunks {
public:
    Chunks(std::u32string_view text, bool at_hyphens) : text_(text), at_hyphens_(at_hyphens) {}

    std::vector<std::u32string_view> all() const {
        std::vector<std::u32string_view> chunks;
        for (std::size_t begin = 0; begin < text_.size();) {
            const std::size_t end = end_of(begin);
            chunks.push_back(text_.substr(begin, end - begin));
            begin = end;
        }
        return chunks;
    }

private:
    std::size_t end_of(std::size_t begin) const {
        std::size_t end = begin;
        if (is_gap(text_[begin])) {
            while (end < text_.size() && is_gap(text_[end]))
                ++end;
            return end;
        }
        if (is_dash_at(begin))
            return dashes_end(begin);
        for (end = begin + 1; end < text_.size() && !is_gap(text_[end]); ++end) {
            if (is_dash_at(end))
                return end;
            if (is_hyphen_at(end))
                return end + 1;
        }
        return end;
    }
    bool letter_at(std::size_t place) const { return place < text_.size() && is_letter(text_[place]); }
    std::size_t dashes_end(std::size_t place) const {
        return std::min(text_.find_first_not_of(U'-', place), text_.size());
    }
    /// Whether two or more hyphens between words start here.
    bool is_dash_at(std::size_t place) const {
        const std::size_t end = dashes_end(place);
        if (!at_hyphens_ || place == 0 || end < place + 2 || end == text_.size())
            return false;
        const char32_t before = text_[place - 1];
        return is_word_letter(text_[end]) &&
               (is_word_letter(before) ||
                std::u32string_view(U"!\"'&.,?").find(before) != std::u32string_view::npos);
    }
    /// Whether this is a hyphen between letters, after which the word may be broken.
    bool is_hyphen_at(std::size_t place) const {
        if (!at_hyphens_ || text_[place] != '-')
            return false;
        const bool ends_part =
            place >= 2 && letter_at(place - 1) &&
            (letter_at(place - 2) || (place >= 3 && text_[place - 2] == '-' && letter_at(place - 3)));
        const bool has_hyphen = place + 2 < text_.size() && text_[place + 2] == '-';
        return ends_part && letter_at(place + 1) && letter_at(place + (has_hyphen ? 3 : 2));
    }

    std::u32string_view text_;
    bool at_hyphens_;
};

bool is_blank(std::u32string_view chunk) {
    return std::all_of(chunk.begin(), chunk.end(),
                       [](char32_t letter) { return has(letter, Property::space); });
}

/// Returns how many characters of an overlong chunk go on a line with `room` left.
std::size_t broken_at(std::u32string_view chunk, std::size_t room, const WrapStyle& style) {
    if (!style.breaks_at_hyphens || chunk.size() <= room || room == 0)
        return room;
    const std::size_t hyphen = chunk.rfind(U'-', room - 1);
    const bool is_inside = hyphen != std::u32string_view::npos && chunk.find_first_not_of(U'-') < hyphen;
    return is_inside ? hyphen + 1 : room;
}

/// Returns lines of at most the width, without white space at their ends.
std::vector<std::string> wrapped(std::u32string_view text, const WrapStyle& style) {
    std::vector<std::u32string_view> chunks = Chunks(text, style.breaks_at_hyphens).all();
    std::reverse(chunks.begin(), chunks.end());
    std::vector<std::string> lines;
    while (!chunks.empty()) {
        if (!lines.empty() && is_blank(chunks.back()))
            chunks.pop_back();
        std::vector<std::u32string_view> line;
        std::size_t length = 0;
        while (!chunks.empty() && length + chunks.back().size() <= style.width) {
            length += chunks.back().size();
            line.push_back(chunks.back());
            chunks.pop_back();
        }
        const bool is_too_long = !chunks.empty() && chunks.back().size() > style.width;
        if (is_too_long && style.breaks_long_words) {
            const std::size_t end = broken_at(chunks.back(), style.width - length, style);
            line.push_back(chunks.back().substr(0, end));
            chunks.back().remove_prefix(end);
        } else if (is_too_long && line.empty()) {
            line.push_back(chunks.back());
            chunks.pop_back();
        }
        if (!line.empty() && is_blank(line.back()))
            line.pop_back();
        std::u32string joined;
        for (const std::u32string_view chunk : line)
            joined += chunk;
        if (!line.empty())
            lines.push_back(encode(joined));
    }
    return lines;
}

Result<Value> wordwrap(Machine& machine, const Value& self, const Bound& arguments) {
    WrapStyle style;
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(const int64_t width, integer_argument(*given));
        if (width <= 0)
            return value_error(fmt::format("invalid width {} (must be > 0)", width));
        style.width = static_cast<std::size_t>(width);
    }
    ETNA_TRY(style.breaks_long_words, flag(machine, arguments.at(1), true));
    std::string separator = "\n";
    if (const Value* given = arguments.at(2); given != nullptr && !given->is(Type::none)) {
        ETNA_TRY(separator, string_argument(*given, "wordwrap"));
    }
    ETNA_TRY(style.breaks_at_hyphens, flag(machine, arguments.at(3), true));
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (!self.is(Type::string)) {
        return python_error("AttributeError",
                            fmt::format("'{}' object has no attribute 'splitlines'", type_name(self)));
    }
    constexpr std::size_t bytes_per_byte = 64; // peak memory for chunks and lines
    ETNA_CHECK(machine.reserve(self.string().size() * bytes_per_byte));
    std::string out;
    bool is_first = true;
    for (const std::string& line : split_lines(self.string(), LineEnds::dropped)) {
        auto parts = wrapped(decode(line), style);
        if (parts.empty())
            parts.emplace_back();
        for (const std::string& part : parts) {
            ETNA_CHECK(machine.spend(part.size() + separator.size()));
            ETNA_CHECK(machine.room_for(out.size() + part.size() + separator.size()));
            out.append(std::exchange(is_first, false) ? "" : separator).append(part);
        }
    }
    return machine.text(std::move(out));
}

constexpr Native filters_wrap_table[] = {
    {"wordwrap", "width break_long_words wrapstring break_on_hyphens", 0, wordwrap},
};

} // namespace

std::span<const Native> wrap_filters() {
    return filters_wrap_table;
}

} // namespace etna::jinja
