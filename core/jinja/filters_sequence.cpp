// Filters that join, select and sort the items of lists and dicts.

#include "core/jinja/access.hpp"
#include "core/jinja/builtins.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <numeric>

namespace etna::jinja {
namespace {

Result<Value> default_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool for_all_false, flag(machine, arguments.at(1), false));
    bool is_replaced = self.is(Type::undefined);
    if (!is_replaced && for_all_false) {
        ETNA_TRY(const bool truth, is_true(machine, self));
        is_replaced = !truth;
    }
    if (!is_replaced)
        return self;
    return arguments.at(0) != nullptr ? *arguments.at(0) : Value("");
}

Result<Value> length_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const std::size_t count, length_of(machine, self));
    return Value(static_cast<int64_t>(count));
}

Result<Value> list_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(auto items, items_of(machine, self));
    return machine.list(std::move(items));
}

Result<Value> first_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto cursor, iterate(self));
    ETNA_TRY(auto item, cursor(machine));
    return item ? std::move(*item) : undefined("No first item, sequence was empty.");
}

/// Whether Python's reversed() takes the value.
bool is_reversible(const Value& value) {
    return is_iterable(value) && !value.is(Type::undefined) && type_name(value) != "generator";
}

Result<Value> last_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (!self.is(Type::undefined) && !is_reversible(self))
        return type_error("'{}' object is not reversible", type_name(self));
    ETNA_TRY(const auto items, items_of(machine, self));
    return items.empty() ? undefined("No last item, sequence was empty.") : items.back();
}

Result<Value> join_filter(Machine& machine, const Value& self, const Bound& arguments) {
    const Value separator = arguments.at(0) != nullptr ? *arguments.at(0) : Value("");
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(const auto items, items_of(machine, self));
    ETNA_TRY(const auto between, to_text(machine, separator));
    std::string out;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ETNA_TRY(const auto value, follow(machine, items[i], path));
        ETNA_TRY(const auto part, to_text(machine, value));
        ETNA_CHECK(machine.grow(out.size(), part.size() + between.size()));
        out += i == 0 ? "" : between;
        out += part;
    }
    return machine.text(std::move(out));
}

Result<Value> items_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::undefined))
        return make_generator(machine, {});
    if (!self.is(Type::dict))
        return type_error("Can only get item pairs from a mapping.");
    ETNA_TRY(auto pairs, pairs_of(machine, self));
    return make_generator(machine, std::move(pairs));
}

Result<Value> reverse_filter(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::string)) {
        ETNA_CHECK(machine.reserve(self.string().size() * 4));
        const std::u32string letters = decode(self.string());
        return machine.text(encode(std::u32string(letters.rbegin(), letters.rend())), self.is_markup());
    }
    if (!is_iterable(self))
        return python_error("FilterArgumentError", "argument must be iterable");
    ETNA_TRY(auto items, items_of(machine, self));
    std::reverse(items.begin(), items.end());
    return is_reversible(self) ? make_generator(machine, std::move(items)) : machine.list(std::move(items));
}

// ---- map, select and reject: generators in the reference, which makes their items when they are used

/// Returns the items of a value; none if the value is false, iterable or not.
Result<std::vector<Value>> items_if_true(Machine& machine, const Value& value) {
    ETNA_TRY(const bool has_items, is_true(machine, value));
    return has_items ? items_of(machine, value) : std::vector<Value>();
}

/// Removes and returns the first positional argument, a string; nothing if there is none.
Result<std::optional<std::string>> take_string(Arguments& arguments, std::string_view function) {
    if (arguments.positional.empty())
        return std::optional<std::string>();
    ETNA_TRY(auto text, string_argument(arguments.positional[0], function));
    arguments.positional.erase(arguments.positional.begin());
    return std::optional(std::move(text));
}

/// Maps each item to an attribute, or to the result of a filter.
Result<Value> map_filter(Machine& machine, const Value& self, const Bound& given) {
    ETNA_TRY(auto items, items_if_true(machine, self));
    if (items.empty()) // as in the reference, the arguments are not checked
        return make_generator(machine, {});
    Arguments arguments = given.all;
    if (const auto attribute = arguments.positional.empty() ? arguments.take("attribute") : std::nullopt) {
        const auto fallback = arguments.take("default");
        if (!arguments.keyword.empty()) {
            return python_error("FilterArgumentError", "Unexpected keyword argument '{}'",
                                arguments.keyword.front().first);
        }
        const Value* otherwise = fallback && !fallback->is(Type::none) ? &*fallback : nullptr;
        ETNA_TRY(const auto path, attribute_path(&*attribute));
        for (Value& item : items) {
            ETNA_TRY(item, follow(machine, item, path, otherwise));
        }
        return make_generator(machine, std::move(items));
    }
    ETNA_TRY(const auto filter, take_string(arguments, "map"));
    if (!filter)
        return python_error("FilterArgumentError", "map requires a filter argument");
    for (Value& item : items) {
        ETNA_TRY(item, call_filter(machine, *filter, item, arguments));
    }
    return make_generator(machine, std::move(items));
}

enum class Selection : uint8_t { passing, failing };
enum class Subject : uint8_t { item, attribute };

/// The filters select, reject, selectattr and rejectattr: the items that pass, or fail, a test.
template <Selection selection, Subject subject>
Result<Value> select_filter(Machine& machine, const Value& self, const Bound& given) {
    ETNA_TRY(auto items, items_if_true(machine, self));
    if (items.empty()) // as in the reference, the arguments are not checked
        return make_generator(machine, {});
    Arguments arguments = given.all;
    std::vector<Value> path;
    if (subject == Subject::attribute) {
        if (arguments.positional.empty())
            return python_error("FilterArgumentError", "Missing parameter for attribute name");
        ETNA_TRY(path, attribute_path(arguments.positional.data()));
        arguments.positional.erase(arguments.positional.begin());
    }
    ETNA_TRY(const auto test, take_string(arguments, "select"));
    std::vector<Value> selected;
    for (Value& item : items) {
        ETNA_CHECK(machine.spend(step_work));
        ETNA_TRY(auto value, follow(machine, item, path));
        if (test) {
            ETNA_TRY(value, call_test(machine, *test, value, arguments));
        }
        ETNA_TRY(const bool passes, is_true(machine, value));
        if (passes == (selection == Selection::passing))
            selected.push_back(std::move(item));
    }
    return make_generator(machine, std::move(selected));
}

// ---- order

enum class Case : uint8_t { ignored, compared };

/// Returns the comparison key: strings in lower case if case is ignored, other values unchanged.
Result<Value> key_of(Machine& machine, const Value& value, Case letters) {
    if (letters == Case::compared || !value.is(Type::string))
        return value;
    ETNA_CHECK(machine.reserve(value.string().size() * 4));
    return machine.text(lower_case(value.string()));
}

Result<Case> case_argument(Machine& machine, const Value* case_sensitive) {
    ETNA_TRY(const bool is_compared, flag(machine, case_sensitive, false));
    return is_compared ? Case::compared : Case::ignored;
}

Result<Value> unique_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_argument(machine, arguments.at(0)));
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(auto items, items_of(machine, self));
    Dict seen;
    std::vector<Value> unique;
    for (Value& item : items) {
        ETNA_TRY(const auto value, follow(machine, item, path));
        ETNA_TRY(const auto key, key_of(machine, value, letters));
        ETNA_CHECK(check_hashable(key));
        ETNA_CHECK(machine.reserve(sizeof(Dict::Entry)));
        if (seen.position(key))
            continue;
        seen.set(key, Value(None{}));
        unique.push_back(std::move(item));
    }
    return make_generator(machine, std::move(unique));
}

/// The filters min and max.
template <Comparison better>
Result<Value> extreme_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_argument(machine, arguments.at(0)));
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(const auto items, items_of(machine, self));
    Value best = undefined("No aggregated item, sequence was empty.");
    Value best_key;
    for (std::size_t i = 0; i < items.size(); ++i) {
        ETNA_TRY(const auto value, follow(machine, items[i], path));
        ETNA_TRY(auto key, key_of(machine, value, letters));
        if (i > 0) {
            ETNA_TRY(const bool is_better, ordered(machine, better, key, best_key));
            if (!is_better)
                continue;
        }
        best = items[i];
        best_key = std::move(key);
    }
    return best;
}

Result<Value> sorted_items(Machine& machine, const std::vector<Value>& items, const std::vector<Value>& keys,
                           bool is_reversed) {
    ETNA_TRY(const auto order,
             sorted_order(machine, keys, is_reversed ? Comparison::greater : Comparison::less));
    std::vector<Value> result;
    result.reserve(order.size());
    for (const std::size_t index : order)
        result.push_back(items[index]);
    return machine.list(std::move(result));
}

Result<Value> sort_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool is_reversed, flag(machine, arguments.at(0), false));
    ETNA_TRY(const Case letters, case_argument(machine, arguments.at(1)));
    std::vector<std::vector<Value>> paths;
    const Value* attribute = arguments.at(2);
    const bool has_names = attribute != nullptr && attribute->is(Type::string);
    for (const std::string& name :
         has_names ? split(attribute->string(), ",", -1) : std::vector<std::string>(1)) {
        const Value part(name);
        ETNA_TRY(auto path, attribute_path(has_names ? &part : attribute));
        paths.push_back(std::move(path));
    }
    ETNA_TRY(const auto items, items_of(machine, self));
    std::vector<Value> keys;
    keys.reserve(items.size());
    for (const Value& item : items) {
        std::vector<Value> parts;
        for (const auto& path : paths) {
            ETNA_TRY(const auto value, follow(machine, item, path));
            ETNA_TRY(auto part, key_of(machine, value, letters));
            parts.push_back(std::move(part));
        }
        ETNA_TRY(auto key, machine.list(std::move(parts)));
        keys.push_back(std::move(key));
    }
    return sorted_items(machine, items, keys, is_reversed);
}

Result<Value> dictsort_filter(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_argument(machine, arguments.at(0)));
    const Value by = arguments.at(1) != nullptr ? *arguments.at(1) : Value("key");
    ETNA_TRY(const bool is_reversed, flag(machine, arguments.at(2), false));
    const bool by_key = by.same_as(Value("key"));
    if (!by_key && !by.same_as(Value("value")))
        return python_error("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (!self.is(Type::dict))
        return python_error("AttributeError", "'{}' object has no attribute 'items'", type_name(self));
    ETNA_TRY(const auto pairs, pairs_of(machine, self));
    std::vector<Value> keys;
    for (const Dict::Entry& entry : self.dict()->entries) {
        ETNA_TRY(auto key, key_of(machine, by_key ? entry.key : entry.value, letters));
        keys.push_back(std::move(key));
    }
    return sorted_items(machine, pairs, keys, is_reversed);
}

constexpr Native sequence_filters_table[] = {
    {"count", "", 0, length_filter},
    {"d", "default_value boolean", 0, default_filter},
    {"default", "default_value boolean", 0, default_filter},
    {"dictsort", "case_sensitive by reverse", 0, dictsort_filter},
    {"first", "", 0, first_filter},
    {"items", "", 0, items_filter},
    {"join", "d attribute", 0, join_filter},
    {"last", "", 0, last_filter},
    {"length", "", 0, length_filter},
    {"list", "", 0, list_filter},
    {"map", "*", 0, map_filter},
    {"max", "case_sensitive attribute", 0, extreme_filter<Comparison::greater>},
    {"min", "case_sensitive attribute", 0, extreme_filter<Comparison::less>},
    {"reject", "*", 0, select_filter<Selection::failing, Subject::item>},
    {"rejectattr", "*", 0, select_filter<Selection::failing, Subject::attribute>},
    {"reverse", "", 0, reverse_filter},
    {"select", "*", 0, select_filter<Selection::passing, Subject::item>},
    {"selectattr", "*", 0, select_filter<Selection::passing, Subject::attribute>},
    {"sort", "reverse case_sensitive attribute", 0, sort_filter},
    {"unique", "case_sensitive attribute", 0, unique_filter},
};

} // namespace

std::span<const Native> sequence_filters() {
    return sequence_filters_table;
}

/// Bottom-up merge sort: stable, and safe if a comparison fails or is inconsistent (NaN).
Result<std::vector<std::size_t>> sorted_order(Machine& machine, const std::vector<Value>& keys,
                                              Comparison before) {
    std::vector<std::size_t> indices(keys.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    std::vector<std::size_t> merged(indices.size());
    for (std::size_t width = 1; width < indices.size(); width *= 2) {
        for (std::size_t begin = 0; begin < indices.size(); begin += 2 * width) {
            const std::size_t middle = std::min(begin + width, indices.size());
            const std::size_t end = std::min(begin + 2 * width, indices.size());
            std::size_t left = begin;
            std::size_t right = middle;
            for (std::size_t out = begin; out < end; ++out) {
                bool takes_right = left == middle;
                if (!takes_right && right < end) {
                    ETNA_TRY(takes_right,
                             ordered(machine, before, keys[indices[right]], keys[indices[left]]));
                }
                merged[out] = indices[takes_right ? right++ : left++];
            }
        }
        indices.swap(merged);
    }
    return indices;
}

} // namespace etna::jinja
