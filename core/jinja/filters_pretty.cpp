// The filter pprint, with the layout of Python's pprint.pformat().

#include "core/jinja/filters.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sorting.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr int64_t line_width = 80;

int64_t length_of(std::string_view text) {
    return static_cast<int64_t>(count_code_points(text));
}

/// Sort rank of a key's type: Python orders incomparable keys by type name.
int64_t rank_of(const Value& key) {
    switch (key.type()) {
    case Type::none:
        return 0;
    case Type::boolean:
    case Type::integer:
    case Type::large:
    case Type::real:
        return 1;
    case Type::string:
        return 2;
    case Type::tuple:
        return 3;
    default:
        return 4;
    }
}

class Printer {
public:
    explicit Printer(Machine& machine) : machine_(machine) {}

    /// Writes the value at `indent`; reserves `allowance` columns after it. `depth` is 0 for the outermost
    /// value.
    Status write(const Value& value, int64_t indent, int64_t allowance, int depth);
    std::string text;

private:
    Result<std::string> flat(const Value& value);
    Result<std::vector<Dict::Entry>> sorted(const Dict& dict);
    Status items(const List& list, int64_t indent, int64_t allowance, int depth);
    Status entries(const Dict& dict, int64_t indent, int64_t allowance, int depth);
    Status string(const std::string& bytes, int64_t indent, int64_t allowance, int depth);
    Status next_line(int64_t indent);

    Machine& machine_;
};

Status Printer::next_line(int64_t indent) {
    const auto spaces = static_cast<std::size_t>(indent);
    ETNA_CHECK(machine_.spend(spaces));
    ETNA_CHECK(machine_.room_for(text.size() + spaces));
    text += '\n';
    text.append(spaces, ' ');
    return {};
}

Result<std::vector<Dict::Entry>> Printer::sorted(const Dict& dict) {
    std::vector<Value> keys;
    keys.reserve(dict.entries.size());
    for (const Dict::Entry& entry : dict.entries) {
        ETNA_TRY(auto key, machine_.pair(Value(rank_of(entry.key)), entry.key));
        keys.push_back(std::move(key));
    }
    const auto places = sorted_places(machine_, keys, SortOrder::ascending);
    if (!places)
        return dict.entries; // Python orders these by address
    std::vector<Dict::Entry> entries;
    entries.reserve(keys.size());
    for (const std::size_t place : *places)
        entries.push_back(dict.entries[place]);
    return entries;
}

/// Formats the value on one line, with dict keys sorted.
Result<std::string> Printer::flat(const Value& value) {
    const Machine::Level level(machine_);
    ETNA_CHECK(level.check());
    if (!value.is_sequence() && !value.is(Type::dict))
        return to_repr(machine_, value);
    std::string out;
    const auto add = [&](const std::string& part) {
        out += out.empty() ? "" : ", ";
        out += part;
        return machine_.reserve(part.size());
    };
    if (value.is(Type::dict)) {
        ETNA_TRY(const auto all, sorted(*value.dict()));
        for (const Dict::Entry& entry : all) {
            ETNA_TRY(const auto key, flat(entry.key));
            ETNA_TRY(const auto content, flat(entry.value));
            ETNA_CHECK(add(fmt::format("{}: {}", key, content)));
        }
        return "{" + out + "}";
    }
    for (const Value& item : value.sequence()->items) {
        ETNA_TRY(const auto part, flat(item));
        ETNA_CHECK(add(part));
    }
    if (value.is(Type::list))
        return "[" + out + "]";
    return "(" + out + (value.sequence()->items.size() == 1 ? ",)" : ")");
}

Status Printer::write(const Value& value, int64_t indent, int64_t allowance, int depth) {
    const Machine::Level level(machine_);
    ETNA_CHECK(level.check());
    ETNA_TRY(const auto line, flat(value));
    ETNA_CHECK(machine_.room_for(text.size() + line.size()));
    const bool fits = length_of(line) <= line_width - indent - allowance;
    if (!fits && value.is(Type::dict))
        return entries(*value.dict(), indent, allowance, depth + 1);
    if (!fits && value.is_sequence())
        return items(*value.sequence(), indent, allowance, depth + 1);
    if (!fits && value.is(Type::string) && !value.is_markup())
        return string(value.string(), indent, allowance, depth + 1);
    text += line;
    return {};
}

Status Printer::items(const List& list, int64_t indent, int64_t allowance, int depth) {
    const std::string_view end = !list.is_tuple ? "]" : (list.items.size() == 1 ? ",)" : ")");
    text += list.is_tuple ? '(' : '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        if (i > 0) {
            text += ',';
            ETNA_CHECK(next_line(indent + 1));
        }
        const bool is_last = i + 1 == list.items.size();
        ETNA_CHECK(write(list.items[i], indent + 1,
                         is_last ? allowance + static_cast<int64_t>(end.size()) : 1, depth));
    }
    text += end;
    return {};
}

Status Printer::entries(const Dict& dict, int64_t indent, int64_t allowance, int depth) {
    ETNA_TRY(const auto all, sorted(dict));
    text += '{';
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0) {
            text += ',';
            ETNA_CHECK(next_line(indent + 1));
        }
        ETNA_TRY(const auto key, flat(all[i].key));
        text.append(key).append(": ");
        ETNA_CHECK(
            write(all[i].value, indent + length_of(key) + 3, i + 1 == all.size() ? allowance + 1 : 1, depth));
    }
    text += '}';
    return {};
}

/// Splits a line into words, each with the white space after it.
std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    bool after_space = true;
    for (std::size_t position = 0; position < line.size();) {
        const Decoded decoded = decode_at(line, position);
        const bool is_space = has(decoded.code_point, Property::space);
        if (words.empty() || (after_space && !is_space))
            words.emplace_back();
        words.back() += line.substr(position, decoded.bytes);
        after_space = is_space;
        position += decoded.bytes;
    }
    return words;
}

/// Writes a string, as several literals if it is too long for its line.
Status Printer::string(const std::string& bytes, int64_t indent, int64_t allowance, int depth) {
    const bool is_whole = depth == 1;
    indent += is_whole ? 1 : 0;
    allowance += is_whole ? 1 : 0;
    const auto lines = split_lines(bytes, LineEnds::kept);
    std::vector<std::string> literals;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool is_last_line = i + 1 == lines.size();
        if (length_of(quoted(lines[i])) <= line_width - indent - (is_last_line ? allowance : 0)) {
            literals.push_back(quoted(lines[i]));
            continue;
        }
        const auto words = words_of(lines[i]);
        std::string current;
        for (std::size_t j = 0; j < words.size(); ++j) {
            const bool is_last = is_last_line && j + 1 == words.size();
            const bool fits =
                length_of(quoted(current + words[j])) <= line_width - indent - (is_last ? allowance : 0);
            if (!fits && !current.empty())
                literals.push_back(quoted(current));
            if (!fits)
                current.clear();
            current += words[j];
        }
        if (!current.empty())
            literals.push_back(quoted(current));
    }
    const bool has_brackets = is_whole && literals.size() > 1;
    text += has_brackets ? "(" : "";
    for (std::size_t i = 0; i < literals.size(); ++i) {
        if (i > 0)
            ETNA_CHECK(next_line(indent));
        text += literals[i];
    }
    text += has_brackets ? ")" : "";
    return {};
}

Result<Value> pretty(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    Printer printer(machine);
    ETNA_CHECK(printer.write(self, 0, 0, 0));
    return machine.text(std::move(printer.text));
}

constexpr Native filters_pretty_table[] = {{"pprint", "", 0, pretty}};

} // namespace

std::span<const Native> pretty_filters() {
    return filters_pretty_table;
}

} // namespace etna::jinja
