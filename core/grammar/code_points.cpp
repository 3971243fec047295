#include "core/grammar/code_points.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace etna::grammar {
namespace {

constexpr CodePoints::Range surrogates = {0xD800, 0xDFFF};

std::string encoded(char32_t code_point) {
    std::string bytes;
    append_utf8(bytes, code_point);
    return bytes;
}

Expression byte_range(Language& language, char first, char last) {
    return language.bytes(ByteSet::range(static_cast<uint8_t>(first), static_cast<uint8_t>(last)));
}

/// Both ends have the same number of bytes; the range is split until its bytes vary independently.
void add_range(Language& language, char32_t first, char32_t last, std::vector<Expression>& alternatives) {
    const std::string low = encoded(first);
    const std::string high = encoded(last);
    for (std::size_t i = low.size() - 1; i > 0; --i) { // so that i continuation bytes are unrestricted
        const char32_t block = char32_t{1} << (6 * i);
        if (first / block == last / block)
            continue;
        if (first % block != 0) {
            const char32_t end = first / block * block + block - 1;
            add_range(language, first, end, alternatives);
            return add_range(language, end + 1, last, alternatives);
        }
        if (last % block != block - 1) {
            const char32_t begin = last / block * block;
            add_range(language, first, begin - 1, alternatives);
            return add_range(language, begin, last, alternatives);
        }
    }
    Expression result = empty;
    for (std::size_t i = low.size(); i-- > 0;)
        result = language.sequence(byte_range(language, low[i], high[i]), result);
    alternatives.push_back(result);
}

} // namespace

CodePoints::CodePoints(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges)
        add(range.first, range.last);
}

CodePoints::CodePoints(std::vector<Range> ranges) {
    std::sort(ranges.begin(), ranges.end());
    for (const Range& range : ranges)
        add(range.first, range.last);
}

void CodePoints::add(char32_t first, char32_t last) {
    if (first <= surrogates.last && last >= surrogates.first) {
        if (first < surrogates.first)
            add(first, surrogates.first - 1);
        if (last > surrogates.last)
            add(surrogates.last + 1, last);
        return;
    }
    if (ranges_.empty() || ranges_.back().last + 1 < first) { // the common case: ascending order
        ranges_.push_back({first, last});
        return;
    }
    if (ranges_.back().first <= first) {
        ranges_.back().last = std::max(ranges_.back().last, last);
        return;
    }
    std::vector<Range> joined;
    for (const Range& range : ranges_) {
        if (range.last + 1 < first || range.first > last + 1) {
            joined.push_back(range);
        } else {
            first = std::min(first, range.first);
            last = std::max(last, range.last);
        }
    }
    const auto position =
        std::find_if(joined.begin(), joined.end(), [&](const Range& r) { return r.first > last; });
    joined.insert(position, {first, last});
    ranges_ = std::move(joined);
}

void CodePoints::add(const CodePoints& other) {
    std::vector<Range> both = ranges_;
    both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
    *this = CodePoints(std::move(both));
}

CodePoints CodePoints::complement() const {
    CodePoints result;
    char32_t begin = 0;
    for (const Range& range : ranges_) {
        if (range.first > begin)
            result.add(begin, range.first - 1);
        begin = range.last + 1;
    }
    if (begin <= code_point_max)
        result.add(begin, code_point_max);
    return result;
}

CodePoints CodePoints::without(const CodePoints& other) const {
    CodePoints removed = complement();
    removed.add(other);
    return removed.complement();
}

bool CodePoints::contains(char32_t one) const {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [one](const Range& range) { return range.first <= one && one <= range.last; });
}

Expression utf8(Language& language, const CodePoints& set) {
    constexpr std::array<char32_t, 4> last_of_length = {0x7F, 0x7FF, 0xFFFF, code_point_max};
    std::vector<Expression> alternatives;
    for (const CodePoints::Range& range : set.ranges()) {
        char32_t first = range.first;
        for (const char32_t length_last : last_of_length) {
            if (first > range.last)
                break;
            if (first > length_last)
                continue;
            const char32_t last = std::min(range.last, length_last);
            add_range(language, first, last, alternatives);
            first = last + 1;
        }
    }
    return language.either(alternatives);
}

} // namespace etna::grammar
