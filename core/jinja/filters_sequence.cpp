// Filters that split or join lists and dicts.

#include "core/jinja/access.hpp"
#include "core/jinja/attribute_path.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sequences.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Result<Value> attribute_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto name, string_argument(*arguments.at(0), "attr"));
    if (self.is(Type::undefined))
        return undefined_error(self);
    ETNA_TRY(auto found, attribute_of(machine, self, name));
    return found ? std::move(*found) : missing_attribute(self, Value(name));
}

Result<Value> fallback(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool for_all_false, flag(machine, arguments.at(1), false));
    bool is_used = self.is(Type::undefined);
    if (!is_used && for_all_false) {
        ETNA_TRY(const bool truth, is_true(machine, self));
        is_used = !truth;
    }
    if (!is_used)
        return self;
    return arguments.at(0) != nullptr ? *arguments.at(0) : Value("");
}

Result<Value> list(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(auto items, items_of(machine, self));
    return machine.list(std::move(items));
}

Result<Value> first(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto cursor, iterate(machine, self));
    ETNA_TRY(auto item, cursor->next(machine));
    return item ? std::move(*item) : undefined("No first item, sequence was empty.");
}

Result<Value> last(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::undefined))
        return undefined("No last item, sequence was empty.");
    ETNA_TRY(const auto cursor, iterate_reversed(machine, self));
    if (cursor == nullptr)
        return type_error(fmt::format("'{}' object is not reversible", type_name(self)));
    ETNA_TRY(auto item, cursor->next(machine));
    return item ? std::move(*item) : undefined("No last item, sequence was empty.");
}

/// Joins texts with a separator; inside {% autoescape true %} the result is markup if any of them is.
Result<Value> join(Machine& machine, const Value& self, const Bound& arguments) {
    const Value separator = arguments.at(0) != nullptr ? *arguments.at(0) : Value("");
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(auto all, items_of(machine, self));
    bool is_markup = machine.escapes() && separator.is_markup();
    for (Value& item : all) {
        ETNA_TRY(item, follow(machine, item, path));
        is_markup = is_markup || (machine.escapes() && item.is_markup());
    }
    const auto text_of = [&](const Value& value) -> Result<std::string> {
        ETNA_TRY(auto text, to_text(machine, value));
        return is_markup && !value.is_markup() ? escaped(text) : text;
    };
    ETNA_TRY(const auto between, text_of(separator));
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) {
        ETNA_TRY(const auto part, text_of(all[i]));
        ETNA_CHECK(machine.spend(part.size() + between.size()));
        ETNA_CHECK(machine.room_for(out.size() + part.size() + between.size()));
        out += i == 0 ? "" : between;
        out += part;
    }
    return machine.text(std::move(out), is_markup);
}

Result<Value> items(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::undefined)) {
        return make_generator(
            machine, "do_items", 1,
            [](Machine& /*machine*/) -> Result<std::optional<Value>> { return std::optional<Value>(); });
    }
    if (!self.is(Type::dict)) { // the reference returns a generator, which fails only when used
        return make_generator(machine, "do_items", 1,
                              [](Machine& /*machine*/) -> Result<std::optional<Value>> {
                                  return type_error("Can only get item pairs from a mapping.");
                              });
    }
    ETNA_TRY(const auto view, make_view(machine, self, View::items));
    ETNA_TRY(auto cursor, iterate(machine, view));
    const std::shared_ptr<Cursor> shared = std::move(cursor);
    return make_generator(machine, "do_items", self.depth() + 1,
                          [shared](Machine& machine_now) { return shared->next(machine_now); });
}

Result<Value> reverse(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::string)) {
        ETNA_CHECK(machine.reserve(self.string().size() * 4));
        std::u32string letters = decode(self.string());
        std::reverse(letters.begin(), letters.end());
        return machine.text(encode(letters), self.is_markup());
    }
    ETNA_TRY(auto cursor, iterate_reversed(machine, self));
    if (cursor != nullptr) {
        const std::shared_ptr<Cursor> shared = std::move(cursor);
        return make_generator(machine, "reversed", self.depth() + 1,
                              [shared](Machine& machine_now) { return shared->next(machine_now); });
    }
    if (!is_iterable(machine, self))
        return python_error("FilterArgumentError", "argument must be iterable");
    ETNA_TRY(auto all, items_of(machine, self));
    std::reverse(all.begin(), all.end());
    return machine.list(std::move(all));
}

Result<Value> sum(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto path, attribute_path(arguments.at(0)));
    Value total = arguments.at(1) != nullptr ? *arguments.at(1) : Value(int64_t{0});
    if (total.is(Type::string))
        return type_error("sum() can't sum strings [use ''.join(seq) instead]");
    ETNA_TRY(const auto cursor, iterate(machine, self));
    while (true) {
        ETNA_TRY(const auto item, cursor->next(machine));
        if (!item)
            return total;
        ETNA_TRY(const auto value, follow(machine, *item, path));
        ETNA_TRY(total, binary(machine, BinaryOperator::add, total, value));
    }
}

/// Splits into lists of `count` items; pads the last one.
Result<Value> batch(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const int64_t count, integer_argument(*arguments.at(0)));
    const std::optional<Value> filler = arguments.at(1) != nullptr && !arguments.at(1)->is(Type::none)
                                            ? std::optional(*arguments.at(1))
                                            : std::nullopt;
    ETNA_TRY(const auto all, items_of(machine, self));
    std::vector<Value> batches;
    std::vector<Value> current;
    for (const Value& item : all) {
        if (static_cast<int64_t>(current.size()) == count) {
            ETNA_TRY(auto full, machine.list(std::exchange(current, {})));
            batches.push_back(std::move(full));
        }
        current.push_back(item);
    }
    if (!current.empty()) {
        if (filler && static_cast<int64_t>(current.size()) < count) {
            const auto missing = static_cast<std::size_t>(count) - current.size();
            if (missing > machine.limits().live_bytes / sizeof(Value))
                return machine.room_for(machine.limits().live_bytes + 1).error();
            ETNA_CHECK(machine.reserve(missing * sizeof(Value)));
            current.resize(static_cast<std::size_t>(count), *filler);
        }
        ETNA_TRY(auto rest, machine.list(std::move(current)));
        batches.push_back(std::move(rest));
    }
    ETNA_TRY(const auto whole, machine.list(std::move(batches)));
    ETNA_TRY(auto cursor, iterate(machine, whole));
    const std::shared_ptr<Cursor> shared = std::move(cursor);
    return make_generator(machine, "do_batch", whole.depth() + 1,
                          [shared](Machine& machine_now) { return shared->next(machine_now); });
}

/// Splits into the given number of lists of about equal length.
Result<Value> slice(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const int64_t slices, integer_argument(*arguments.at(0)));
    ETNA_TRY(const auto all, items_of(machine, self));
    if (slices == 0)
        return python_error("ZeroDivisionError", "integer division or modulo by zero");
    const auto count = static_cast<std::size_t>(std::max<int64_t>(slices, 0));
    ETNA_CHECK(machine.room_for(std::min(count, machine.limits().live_bytes) * sizeof(List)));
    std::vector<Value> lists;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_long = i < all.size() % count;
        const std::size_t end = begin + all.size() / count + (is_long ? 1 : 0);
        std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                all.begin() + static_cast<std::ptrdiff_t>(end));
        if (arguments.at(1) != nullptr && !arguments.at(1)->is(Type::none) && !is_long)
            part.push_back(*arguments.at(1));
        ETNA_TRY(auto made, machine.list(std::move(part)));
        lists.push_back(std::move(made));
        begin = end;
    }
    ETNA_TRY(const auto whole, machine.list(std::move(lists)));
    ETNA_TRY(auto cursor, iterate(machine, whole));
    const std::shared_ptr<Cursor> shared = std::move(cursor);
    return make_generator(machine, "sync_do_slice", whole.depth() + 1,
                          [shared](Machine& machine_now) { return shared->next(machine_now); });
}

constexpr Native filters_sequence_table[] = {
    {"attr", "name", 1, attribute_filter},
    {"batch", "linecount fill_with", 1, batch},
    {"d", "default_value boolean", 0, fallback},
    {"default", "default_value boolean", 0, fallback},
    {"first", "", 0, first},
    {"items", "", 0, items},
    {"join", "d attribute", 0, join},
    {"last", "", 0, last},
    {"list", "", 0, list},
    {"reverse", "", 0, reverse},
    {"slice", "slices fill_with", 1, slice},
    {"sum", "attribute start", 0, sum},
};

} // namespace

std::span<const Native> sequence_filters() {
    return filters_sequence_table;
}

} // namespace etna::jinja
