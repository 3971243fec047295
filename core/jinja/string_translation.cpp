// str.translate() and str.maketrans().

#include "core/jinja/access.hpp"
#include "core/jinja/containers.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/unicode.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int64_t code_point_max = 0x10FFFF;

Value code_of(char32_t letter) {
    return static_cast<int64_t>(letter);
}

/// Appends a table's mapping of a letter: a code point, a string or None.
Status append_mapped(std::u32string& out, const Value& mapped) {
    if (mapped.is(Type::none))
        return {};
    if (mapped.is(Type::string)) {
        out += decode(mapped.string());
        return {};
    }
    const auto code_point = clamped_integer_of(mapped);
    if (!code_point)
        return type_error("character mapping must return integer, None or str");
    if (*code_point < 0 || *code_point > code_point_max)
        return value_error("character mapping must be in range(0x110000)");
    out += static_cast<char32_t>(*code_point);
    return {};
}

Result<Value> translate(Machine& machine, const Value& self, const Bound& arguments) {
    const Value& table = *arguments.at(0);
    if (!table.is(Type::dict) && !table.is_sequence() && !table.is(Type::string))
        return type_error(fmt::format("'{}' object is not subscriptable", type_name(table)));
    ETNA_CHECK(machine.reserve(self.string().size() * 4));
    std::u32string out;
    for (const char32_t letter : decode(self.string())) {
        ETNA_CHECK(machine.spend(step_work));
        ETNA_CHECK(machine.room_for(out.size() * 4));
        ETNA_TRY(const auto mapped, item_of(machine, table, code_of(letter)));
        if (mapped) {
            ETNA_CHECK(append_mapped(out, *mapped));
        } else {
            out += letter;
        }
    }
    return machine.text(encode(out), self.is_markup());
}

/// Builds a table from a dict of letters or code points.
Result<Value> table_of(Machine& machine, const Value& given) {
    if (!given.is(Type::dict))
        return type_error("if you give only one argument to maketrans it must be a dict");
    std::vector<Dict::Entry> entries;
    for (const Dict::Entry& entry : given.dict()->entries) {
        const bool is_letter = entry.key.is(Type::string);
        if (is_letter && count_code_points(entry.key.string()) != 1)
            return value_error("string keys in translate table must be of length 1");
        if (!is_letter && !clamped_integer_of(entry.key))
            return type_error("keys in translate table must be strings or integers");
        entries.push_back({is_letter ? code_of(decode(entry.key.string())[0]) : entry.key, entry.value});
    }
    return machine.dict(std::move(entries));
}

Result<Value> maketrans(Machine& machine, const Value& /*self*/, const Bound& arguments) {
    const Value& from = *arguments.at(0);
    if (arguments.at(1) == nullptr)
        return table_of(machine, from);
    if (!from.is(Type::string))
        return type_error("first maketrans argument must be a string if there is a second argument");
    for (const std::size_t place : {std::size_t{1}, std::size_t{2}}) {
        const Value* given = arguments.at(place);
        if (given != nullptr && !given->is(Type::string)) {
            return type_error(
                fmt::format("maketrans() argument {} must be str, not {}", place + 1, type_name(*given)));
        }
    }
    const std::u32string letters = decode(from.string());
    const std::u32string others = decode(arguments.at(1)->string());
    if (letters.size() != others.size())
        return value_error("the first two maketrans arguments must have equal length");
    std::vector<Dict::Entry> entries;
    entries.reserve(letters.size());
    for (std::size_t i = 0; i < letters.size(); ++i)
        entries.push_back({code_of(letters[i]), code_of(others[i])});
    for (const char32_t letter : decode(arguments.at(2) != nullptr ? arguments.at(2)->string() : ""))
        entries.push_back({code_of(letter), None{}});
    return machine.dict(std::move(entries));
}

constexpr Native string_translation_table[] = {{"maketrans", "/x y z", 1, maketrans},
                                               {"translate", "/table", 1, translate}};

} // namespace

std::span<const Native> string_translations() {
    return string_translation_table;
}

} // namespace etna::jinja
