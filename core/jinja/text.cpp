#include "core/jinja/text.hpp"

#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace etna::jinja {
namespace {

bool is_space(char32_t code_point) {
    return has(code_point, Property::space);
}

std::size_t limit_of(int64_t count) {
    return count < 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(count);
}

/// Returns the offset of the last character. Precondition: the text is not empty.
std::size_t last_character(std::string_view text) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80)
        --begin;
    return begin + decode_at(text, begin).bytes == text.size() ? begin : text.size() - 1;
}

std::vector<std::string> split_at_spaces(std::string_view text, std::size_t splits_max) {
    std::vector<std::string> parts;
    text = stripped(text, {}, Side::left);
    while (!text.empty()) {
        std::size_t end = 0;
        while (end < text.size() && parts.size() < splits_max && !is_space(decode_at(text, end).code_point))
            end += decode_at(text, end).bytes;
        if (parts.size() == splits_max) {
            parts.emplace_back(text);
            break;
        }
        parts.emplace_back(text.substr(0, end));
        text = stripped(text.substr(end), {}, Side::left);
    }
    return parts;
}

std::vector<std::string> split_at_spaces_from_right(std::string_view text, std::size_t splits_max) {
    std::vector<std::string> parts;
    text = stripped(text, {}, Side::right);
    while (!text.empty()) {
        if (parts.size() == splits_max) {
            parts.emplace_back(text);
            break;
        }
        std::size_t begin = text.size();
        while (begin > 0) {
            const std::size_t before = last_character(text.substr(0, begin));
            if (is_space(decode_at(text, before).code_point))
                break;
            begin = before;
        }
        parts.emplace_back(text.substr(begin));
        text = stripped(text.substr(0, begin), {}, Side::right);
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
}

std::size_t occurrences(std::string_view text, std::string_view part, std::size_t count_max) {
    std::size_t count = 0;
    for (std::size_t at = find_in(text, part); at != std::string_view::npos && count < count_max;
         at = find_in(text, part, at + part.size()))
        ++count;
    return count;
}

} // namespace

std::size_t find_in(std::string_view text, std::string_view part, std::size_t from) {
    if (from > text.size())
        return std::string_view::npos;
    const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
    if (found == nullptr)
        return std::string_view::npos;
    return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::string_view stripped(std::string_view text, std::optional<std::string_view> characters, Side side) {
    const std::u32string set = characters ? decode(*characters) : std::u32string();
    const auto goes = [&](char32_t code_point) {
        return characters ? set.find(code_point) != std::u32string::npos : is_space(code_point);
    };
    while ((static_cast<int>(side) & 1) != 0 && !text.empty() && goes(decode_at(text, 0).code_point))
        text.remove_prefix(decode_at(text, 0).bytes);
    while ((static_cast<int>(side) & 2) != 0 && !text.empty()) {
        const std::size_t last = last_character(text);
        if (!goes(decode_at(text, last).code_point))
            break;
        text = text.substr(0, last);
    }
    return text;
}

std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator,
                               int64_t splits_max) {
    const std::size_t limit = limit_of(splits_max);
    if (!separator)
        return split_at_spaces(text, limit);
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (parts.size() < limit) {
        const std::size_t at = find_in(text, *separator, begin);
        if (at == std::string_view::npos)
            break;
        parts.emplace_back(text.substr(begin, at - begin));
        begin = at + separator->size();
    }
    parts.emplace_back(text.substr(begin));
    return parts;
}

std::vector<std::string> split_from_right(std::string_view text, std::optional<std::string_view> separator,
                                          int64_t splits_max) {
    const std::size_t limit = limit_of(splits_max);
    if (!separator)
        return split_at_spaces_from_right(text, limit);
    std::vector<std::string> parts;
    while (parts.size() < limit) {
        const std::size_t at = text.rfind(*separator);
        if (at == std::string_view::npos)
            break;
        parts.emplace_back(text.substr(at + separator->size()));
        text = text.substr(0, at);
    }
    parts.emplace_back(text);
    std::reverse(parts.begin(), parts.end());
    return parts;
}

std::vector<std::string> split_lines(std::string_view text, LineEnds ends) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        std::size_t next = position + decoded.bytes;
        if (is_line_end(decoded.code_point)) {
            if (decoded.code_point == '\r' && next < text.size() && text[next] == '\n')
                ++next;
            lines.emplace_back(text.substr(begin, (ends == LineEnds::kept ? next : position) - begin));
            begin = next;
        }
        position = next;
    }
    if (begin < text.size())
        lines.emplace_back(text.substr(begin));
    return lines;
}

std::size_t replaced_bytes(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
    const std::size_t limit = limit_of(count);
    const std::size_t places =
        from.empty() ? std::min(limit, count_code_points(text) + 1) : occurrences(text, from, limit);
    if (to.size() > from.size() &&
        places > (std::numeric_limits<std::size_t>::max() - text.size()) / (to.size() - from.size()))
        return std::numeric_limits<std::size_t>::max();
    return text.size() + places * to.size() - places * from.size();
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, int64_t count) {
    std::size_t left = limit_of(count);
    std::string out;
    std::size_t position = 0;
    if (from.empty()) {
        for (; left > 0 && position <= text.size(); --left) {
            out += to;
            if (position == text.size())
                return out;
            const std::size_t bytes = decode_at(text, position).bytes;
            out += text.substr(position, bytes);
            position += bytes;
        }
        return out.append(text.substr(position));
    }
    for (; left > 0; --left) {
        const std::size_t at = find_in(text, from, position);
        if (at == std::string_view::npos)
            break;
        out.append(text.substr(position, at - position)).append(to);
        position = at + from.size();
    }
    return out.append(text.substr(position));
}

std::string titled_words(std::string_view text) {
    const std::u32string letters = decode(text);
    const auto is_break = [](char32_t letter) {
        return is_space(letter) || std::u32string_view(U"-({[<").find(letter) != std::u32string_view::npos;
    };
    std::string out;
    for (std::size_t begin = 0; begin < letters.size();) {
        std::size_t end = begin;
        while (end < letters.size() && is_break(letters[end]) == is_break(letters[begin]))
            ++end;
        const auto word = std::u32string_view(letters).substr(begin, end - begin);
        out += encode(upper_case(word.substr(0, 1)));
        out += encode(lower_case(word.substr(1)));
        begin = end;
    }
    return out;
}

} // namespace etna::jinja
