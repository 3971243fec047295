// str methods that return numbers and booleans.

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// A range of the text, from `start` to `stop` as in slices.
struct Range {
    std::size_t begin;
    std::size_t end;
    bool is_empty_before_start; ///< start is after the end: nothing is found, not even ""
};

Result<int64_t> bound_of(const Value* given, int64_t fallback, int64_t length) {
    if (given == nullptr || given->is(Type::none))
        return fallback;
    const auto place = clamped_integer_of(*given);
    if (!place)
        return type_error("slice indices must be integers or None or have an __index__ method");
    return *place < 0 ? std::max<int64_t>(*place + length, 0) : *place;
}

Result<Range> range_of(const Bound& arguments, std::size_t size) {
    const auto length = static_cast<int64_t>(size);
    ETNA_TRY(const int64_t start, bound_of(arguments.at(1), 0, length));
    ETNA_TRY(const int64_t stop, bound_of(arguments.at(2), length, length));
    const auto end = static_cast<std::size_t>(std::min(stop, length));
    const auto begin = static_cast<std::size_t>(std::min(start, length));
    return Range{begin, std::max(begin, end), start > length || static_cast<int64_t>(end) < start};
}

enum class Search : uint8_t { first, last };
enum class Absence : uint8_t { minus_one, error };

/// Returns the bytes of the text in a range counted in code points.
std::string_view window_of(std::string_view text, const Range& range) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < range.begin; ++i)
        begin += decode_at(text, begin).bytes;
    std::size_t end = begin;
    for (std::size_t i = range.begin; i < range.end; ++i)
        end += decode_at(text, end).bytes;
    return text.substr(begin, end - begin);
}

template <Search search, Absence absence>
Result<Value> find(Machine& machine, const Value& self, const Bound& arguments) {
    if (!arguments.at(0)->is(Type::string))
        return type_error(fmt::format("must be str, not {}", type_name(*arguments.at(0))));
    const std::string& part = arguments.at(0)->string();
    const uint64_t effort =
        search == Search::last ? part.size() + 2 : search_work; // rfind compares at every offset
    ETNA_CHECK(machine.spend(self.string().size() * effort));
    ETNA_TRY(const Range range, range_of(arguments, count_code_points(self.string())));
    const std::string_view window = window_of(self.string(), range);
    const std::size_t at = search == Search::first ? find_in(window, part) : window.rfind(part);
    if (at != std::string_view::npos && !range.is_empty_before_start)
        return Value(static_cast<int64_t>(range.begin + count_code_points(window.substr(0, at))));
    if (absence == Absence::error)
        return value_error("substring not found");
    return Value(int64_t{-1});
}

Result<Value> count(Machine& machine, const Value& self, const Bound& arguments) {
    if (!arguments.at(0)->is(Type::string))
        return type_error(fmt::format("must be str, not {}", type_name(*arguments.at(0))));
    const std::string& part = arguments.at(0)->string();
    ETNA_CHECK(machine.spend(self.string().size() * 3));
    ETNA_TRY(const Range range, range_of(arguments, count_code_points(self.string())));
    if (range.is_empty_before_start)
        return Value(int64_t{0});
    if (part.empty())
        return Value(static_cast<int64_t>(range.end - range.begin + 1));
    const std::string_view window = window_of(self.string(), range);
    int64_t found = 0;
    for (std::size_t at = find_in(window, part); at != std::string_view::npos;
         at = find_in(window, part, at + part.size()))
        ++found;
    return Value(found);
}

enum class End : uint8_t { front, back };

template <End end>
Result<Value> affix(Machine& machine, const Value& self, const Bound& arguments) {
    constexpr std::string_view name = end == End::front ? "startswith" : "endswith";
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    const std::u32string text = decode(self.string());
    ETNA_TRY(const Range range, range_of(arguments, text.size()));
    const auto window = std::u32string_view(text).substr(range.begin, range.end - range.begin);
    const Value& given = *arguments.at(0);
    const std::vector<Value> one = {given};
    if (!given.is(Type::tuple) && !given.is(Type::string)) {
        return type_error(
            fmt::format("{} first arg must be str or a tuple of str, not {}", name, type_name(given)));
    }
    for (const Value& each : given.is(Type::tuple) ? given.sequence()->items : one) {
        if (!each.is(Type::string)) {
            return type_error(
                fmt::format("tuple for {} must only contain str, not {}", name, type_name(each)));
        }
        const std::u32string part = decode(each.string());
        if (range.is_empty_before_start || part.size() > window.size())
            continue;
        const std::size_t at = end == End::front ? 0 : window.size() - part.size();
        if (window.substr(at, part.size()) == part)
            return Value(true);
    }
    return Value(false);
}

template <bool (*is_so)(char32_t)>
Result<Value> all_are(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    const std::u32string text = decode(self.string());
    return Value(!text.empty() && std::all_of(text.begin(), text.end(), is_so));
}

template <Property property>
bool with(char32_t code_point) {
    return has(code_point, property);
}

Result<Value> isascii(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    const std::string& text = self.string();
    return Value(std::all_of(text.begin(), text.end(),
                             [](char letter) { return static_cast<uint8_t>(letter) < 0x80; }));
}

Result<Value> isprintable(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    const std::u32string text = decode(self.string());
    return Value(std::all_of(text.begin(), text.end(), with<Property::printable>));
}

Result<Value> isidentifier(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    const std::u32string text = decode(self.string());
    return Value(!text.empty() && has(text.front(), Property::name_start) &&
                 std::all_of(text.begin(), text.end(), with<Property::name_part>));
}

/// Whether some letter has the case `wanted` and none has `other`.
template <Property wanted, Property other>
Result<Value> is_case(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    bool found = false;
    for (const char32_t letter : decode(self.string())) {
        if (has(letter, other) || has(letter, Property::title))
            return Value(false);
        found = found || has(letter, wanted);
    }
    return Value(found);
}

Result<Value> istitle(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    bool found = false;
    bool in_word = false;
    for (const char32_t letter : decode(self.string())) {
        const bool is_capital = has(letter, Property::upper) || has(letter, Property::title);
        if (is_cased(letter) && is_capital == in_word)
            return Value(false);
        in_word = is_cased(letter);
        found = found || in_word;
    }
    return Value(found);
}

constexpr Native string_questions_table[] = {
    {"count", "/sub start end", 1, count},
    {"endswith", "/suffix start end", 1, affix<End::back>},
    {"find", "/sub start end", 1, find<Search::first, Absence::minus_one>},
    {"index", "/sub start end", 1, find<Search::first, Absence::error>},
    {"isalnum", "", 0, all_are<is_alphanumeric>},
    {"isalpha", "", 0, all_are<with<Property::alphabetic>>},
    {"isascii", "", 0, isascii},
    {"isdecimal", "", 0, all_are<is_decimal>},
    {"isdigit", "", 0, all_are<is_digit>},
    {"isidentifier", "", 0, isidentifier},
    {"islower", "", 0, is_case<Property::lower, Property::upper>},
    {"isnumeric", "", 0, all_are<is_numeric>},
    {"isprintable", "", 0, isprintable},
    {"isspace", "", 0, all_are<with<Property::space>>},
    {"istitle", "", 0, istitle},
    {"isupper", "", 0, is_case<Property::upper, Property::lower>},
    {"rfind", "/sub start end", 1, find<Search::last, Absence::minus_one>},
    {"rindex", "/sub start end", 1, find<Search::last, Absence::error>},
    {"startswith", "/prefix start end", 1, affix<End::front>},
};

} // namespace

std::span<const Native> string_questions() {
    return string_questions_table;
}

} // namespace etna::jinja
