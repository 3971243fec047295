// str methods that return strings and lists of strings.

#include "core/jinja/brace_format.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

/// Returns a string derived from `self`: markup if `self` is.
Result<Value> like(Machine& machine, const Value& self, std::string text) {
    return machine.text(std::move(text), self.is_markup());
}

/// Returns a string for insertion into `self`: escaped if only `self` is markup.
std::string within(const Value& self, const Value& added) {
    return self.is_markup() && !added.is_markup() ? escaped(added.string()) : added.string();
}

template <std::u32string (*convert)(std::u32string_view)>
Result<Value> converted(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    return like(machine, self, encode(convert(decode(self.string()))));
}

std::u32string folded(std::u32string_view text) {
    std::u32string out;
    for (const char32_t letter : text)
        out += lower_case(upper_case(std::u32string_view(&letter, 1)));
    return out;
}

template <Side side>
Result<Value> strip(Machine& machine, const Value& self, const Bound& arguments) {
    std::optional<std::string_view> characters;
    if (const Value* given = arguments.at(0); given != nullptr && !given->is(Type::none)) {
        if (!given->is(Type::string)) {
            return type_error(fmt::format("{}strip arg must be None or str",
                                          side == Side::left ? "l" : (side == Side::right ? "r" : "")));
        }
        characters = given->string();
    }
    return like(machine, self, std::string(stripped(self.string(), characters, side)));
}

Result<Value> strings(Machine& machine, const Value& self, std::vector<std::string> parts) {
    std::vector<Value> items;
    items.reserve(parts.size());
    for (std::string& part : parts) {
        ETNA_TRY(auto item, like(machine, self, std::move(part)));
        items.push_back(std::move(item));
    }
    return machine.list(std::move(items));
}

template <std::vector<std::string> (*divide)(std::string_view, std::optional<std::string_view>, int64_t)>
Result<Value> divided(Machine& machine, const Value& self, const Bound& arguments) {
    std::optional<std::string_view> separator;
    if (const Value* given = arguments.at(0); given != nullptr && !given->is(Type::none)) {
        if (!given->is(Type::string))
            return type_error(fmt::format("must be str or None, not {}", type_name(*given)));
        if (given->string().empty())
            return value_error("empty separator");
        separator = given->string();
    }
    int64_t splits_max = -1;
    if (const Value* given = arguments.at(1)) {
        ETNA_TRY(splits_max, integer_argument(*given));
    }
    const std::size_t effort = separator ? separator->size() + 1 : 1; // rsplit compares at every offset
    ETNA_CHECK(machine.room_for(self.string().size()));
    ETNA_CHECK(machine.spend(static_cast<uint64_t>(self.string().size()) * effort));
    return strings(machine, self, divide(self.string(), separator, splits_max));
}

Result<Value> splitlines(Machine& machine, const Value& self, const Bound& arguments) {
    bool keeps = false;
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(keeps, is_true(machine, *given));
    }
    return strings(machine, self, split_lines(self.string(), keeps ? LineEnds::kept : LineEnds::dropped));
}

Result<Value> replace(Machine& machine, const Value& self, const Bound& arguments) {
    for (const std::size_t place : {0, 1}) {
        if (!arguments.at(place)->is(Type::string)) {
            return type_error(fmt::format("replace() argument {} must be str, not {}", place + 1,
                                          type_name(*arguments.at(place))));
        }
    }
    int64_t count = -1;
    if (const Value* given = arguments.at(2)) {
        ETNA_TRY(count, integer_argument(*given));
    }
    const std::string& from = arguments.at(0)->string();
    const std::string to = within(self, *arguments.at(1));
    ETNA_CHECK(machine.reserve(replaced_bytes(self.string(), from, to, count)));
    return like(machine, self, replaced(self.string(), from, to, count));
}

Result<Value> join(Machine& machine, const Value& self, const Bound& arguments) {
    if (!is_iterable(machine, *arguments.at(0)))
        return type_error("can only join an iterable");
    ETNA_TRY(const auto items, items_of(machine, *arguments.at(0)));
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const bool escapes = self.is_markup() && !items[i].is_markup();
        if (!items[i].is(Type::string) && !self.is_markup()) {
            return type_error(
                fmt::format("sequence item {}: expected str instance, {} found", i, type_name(items[i])));
        }
        ETNA_TRY(const auto part, to_text(machine, items[i]));
        ETNA_CHECK(machine.spend(part.size() + self.string().size()));
        ETNA_CHECK(machine.room_for(out.size() + part.size() + self.string().size()));
        out += i == 0 ? "" : self.string();
        out += escapes ? escaped(part) : part;
    }
    return like(machine, self, std::move(out));
}

enum class Fill : uint8_t { left, right, both };

template <Fill fill>
Result<Value> justified(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const int64_t width, integer_argument(*arguments.at(0)));
    std::string filler = " ";
    if (const Value* given = arguments.at(1)) {
        if (given->is(Type::string))
            filler = within(self, *given);
        if (!given->is(Type::string) || count_code_points(filler) != 1)
            return type_error("The fill character must be exactly one character long");
    }
    const auto length = static_cast<int64_t>(count_code_points(self.string()));
    if (width <= length)
        return self;
    const int64_t missing = width - length;
    if (static_cast<uint64_t>(missing) > machine.limits().live_bytes)
        return machine.reserve(machine.limits().live_bytes + 1).error();
    ETNA_CHECK(machine.reserve(static_cast<std::size_t>(missing) * filler.size()));
    const int64_t before = fill == Fill::left    ? missing
                           : fill == Fill::right ? 0
                                                 : missing / 2 + (missing & width & 1);
    std::string out;
    for (int64_t i = 0; i < before; ++i)
        out += filler;
    out += self.string();
    for (int64_t i = before; i < missing; ++i)
        out += filler;
    return like(machine, self, std::move(out));
}

Result<Value> zfill(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const int64_t width, integer_argument(*arguments.at(0)));
    const std::string& text = self.string();
    const bool is_signed = !text.empty() && (text[0] == '+' || text[0] == '-');
    const auto length = static_cast<int64_t>(count_code_points(text));
    if (width <= length)
        return self;
    if (static_cast<uint64_t>(width) > machine.limits().live_bytes)
        return machine.reserve(machine.limits().live_bytes + 1).error();
    ETNA_CHECK(machine.reserve(static_cast<std::size_t>(width)));
    return like(machine, self,
                text.substr(0, is_signed ? 1 : 0) +
                    std::string(static_cast<std::size_t>(width - length), '0') +
                    text.substr(is_signed ? 1 : 0));
}

Result<Value> expandtabs(Machine& machine, const Value& self, const Bound& arguments) {
    int64_t size = 8;
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(size, integer_argument(*given));
    }
    std::string out;
    int64_t column = 0;
    for (std::size_t position = 0; position < self.string().size();) {
        const Decoded decoded = decode_at(self.string(), position);
        if (decoded.code_point == '\t') {
            const int64_t spaces = size > 0 ? size - column % size : 0;
            if (static_cast<uint64_t>(spaces) > machine.limits().live_bytes)
                return machine.reserve(machine.limits().live_bytes + 1).error();
            ETNA_CHECK(machine.spend(static_cast<std::size_t>(spaces)));
            ETNA_CHECK(machine.room_for(out.size() + static_cast<std::size_t>(spaces)));
            out.append(static_cast<std::size_t>(spaces), ' ');
            column += spaces;
        } else {
            out += self.string().substr(position, decoded.bytes);
            column = decoded.code_point == '\n' || decoded.code_point == '\r' ? 0 : column + 1;
        }
        position += decoded.bytes;
    }
    return like(machine, self, std::move(out));
}

enum class From : uint8_t { start, end };

template <From from>
Result<Value> partition(Machine& machine, const Value& self, const Bound& arguments) {
    if (!arguments.at(0)->is(Type::string))
        return type_error(fmt::format("must be str, not {}", type_name(*arguments.at(0))));
    const std::string& separator = arguments.at(0)->string();
    const std::string& text = self.string();
    if (separator.empty())
        return value_error("empty separator");
    ETNA_CHECK(machine.spend(static_cast<uint64_t>(text.size()) * (separator.size() + 1)));
    const std::size_t at = from == From::start ? text.find(separator) : text.rfind(separator);
    const bool is_found = at != std::string::npos;
    const std::string whole[] = {from == From::start ? text : "", "", from == From::start ? "" : text};
    std::vector<Value> parts;
    for (const std::string& part : {is_found ? text.substr(0, at) : whole[0], is_found ? separator : whole[1],
                                    is_found ? text.substr(at + separator.size()) : whole[2]}) {
        ETNA_TRY(auto value, like(machine, self, part));
        parts.push_back(std::move(value));
    }
    return machine.tuple(std::move(parts));
}

template <From from>
Result<Value> without(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto part,
             string_argument(*arguments.at(0), from == From::start ? "removeprefix" : "removesuffix"));
    const std::string& text = self.string();
    const std::size_t at = from == From::start ? 0 : text.size() - std::min(part.size(), text.size());
    if (part.empty() || part.size() > text.size() || text.compare(at, part.size(), part) != 0)
        return self;
    return like(machine, self,
                from == From::start ? text.substr(part.size()) : text.substr(0, text.size() - part.size()));
}

Result<Value> format(Machine& machine, const Value& self, const Bound& arguments) {
    return brace_format(machine, self, arguments.all);
}

Result<Value> format_map(Machine& machine, const Value& self, const Bound& arguments) {
    Arguments all;
    if (!arguments.at(0)->is(Type::dict))
        return type_error(fmt::format("'{}' object is not a mapping", type_name(*arguments.at(0))));
    for (const Dict::Entry& entry : arguments.at(0)->dict()->entries) {
        if (entry.key.is(Type::string))
            all.keyword.emplace_back(entry.key.string(), entry.value);
    }
    return brace_format(machine, self, all);
}

constexpr Native string_methods_table[] = {
    {"capitalize", "", 0, converted<capital_case>},
    {"casefold", "", 0, converted<folded>},
    {"center", "/width fillchar", 1, justified<Fill::both>},
    {"expandtabs", "tabsize", 0, expandtabs},
    {"format", "*", 0, format},
    {"format_map", "/mapping", 1, format_map},
    {"join", "/iterable", 1, join},
    {"ljust", "/width fillchar", 1, justified<Fill::right>},
    {"lower", "", 0, converted<lower_case>},
    {"lstrip", "/chars", 0, strip<Side::left>},
    {"partition", "/sep", 1, partition<From::start>},
    {"removeprefix", "/prefix", 1, without<From::start>},
    {"removesuffix", "/suffix", 1, without<From::end>},
    {"replace", "/old new count", 2, replace},
    {"rjust", "/width fillchar", 1, justified<Fill::left>},
    {"rpartition", "/sep", 1, partition<From::end>},
    {"rsplit", "sep maxsplit", 0, divided<split_from_right>},
    {"rstrip", "/chars", 0, strip<Side::right>},
    {"split", "sep maxsplit", 0, divided<split>},
    {"splitlines", "keepends", 0, splitlines},
    {"strip", "/chars", 0, strip<Side::both>},
    {"swapcase", "", 0, converted<swapped_case>},
    {"title", "", 0, converted<title_case>},
    {"upper", "", 0, converted<upper_case>},
    {"zfill", "/width", 1, zfill},
};

} // namespace

std::span<const Native> string_methods() {
    return string_methods_table;
}

} // namespace etna::jinja
