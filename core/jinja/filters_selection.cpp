// Filters that select, sort and group items.

#include "core/jinja/attribute_path.hpp"
#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/sequences.hpp"
#include "core/jinja/sorting.hpp"
#include "core/jinja/tests.hpp"
#include "core/jinja/text.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

enum class Case : uint8_t { ignored, kept };

/// Returns the comparison key: strings in lower case if case is ignored, other values unchanged.
Result<Value> key_of(Machine& machine, const Value& value, Case letters) {
    if (letters == Case::kept || !value.is(Type::string))
        return value;
    ETNA_CHECK(machine.reserve(value.string().size() * 4));
    return machine.text(encode(lower_case(decode(value.string()))));
}

Result<Case> case_of(Machine& machine, const Value* case_sensitive) {
    ETNA_TRY(const bool is_kept, flag(machine, case_sensitive, false));
    return is_kept ? Case::kept : Case::ignored;
}

std::size_t depth_of(const Value& source, const Arguments& arguments) {
    std::size_t depth = source.depth();
    for (const Value& value : arguments.positional)
        depth = std::max(depth, value.depth());
    for (const auto& [name, value] : arguments.keyword)
        depth = std::max(depth, value.depth());
    return depth + 1;
}

Result<Value> map_attribute(Machine& machine, const Value& self, Arguments arguments) {
    const std::size_t depth = depth_of(self, arguments);
    const auto attribute = arguments.take("attribute");
    const auto fallback = arguments.take("default");
    if (!arguments.keyword.empty()) {
        return python_error("FilterArgumentError",
                            fmt::format("Unexpected keyword argument '{}'", arguments.keyword.front().first));
    }
    ETNA_TRY(const auto path, attribute_path(&*attribute));
    ETNA_TRY(auto cursor, iterate(machine, self));
    const std::shared_ptr<Cursor> source = std::move(cursor);
    return make_generator(machine, "sync_do_map", depth,
                          [source, path, fallback](Machine& now) -> Result<std::optional<Value>> {
                              ETNA_TRY(const auto item, source->next(now));
                              if (!item)
                                  return item;
                              const Value* otherwise =
                                  fallback && !fallback->is(Type::none) ? &*fallback : nullptr;
                              ETNA_TRY(auto value, follow(now, *item, path, otherwise));
                              return std::optional<Value>(std::move(value));
                          });
}

/// Returns a generator that fails when used: map, select and reject are lazy and report argument errors only
/// then.
Result<Value> failing_generator(Machine& machine, std::string_view name, const Error& error) {
    return make_generator(machine, name, 1,
                          [error](Machine& /*now*/) -> Result<std::optional<Value>> { return error; });
}

Result<Value> map(Machine& machine, const Value& self, const Bound& arguments) {
    Arguments all = arguments.all;
    const bool by_attribute =
        all.positional.empty() && std::any_of(all.keyword.begin(), all.keyword.end(),
                                              [](const auto& each) { return each.first == "attribute"; });
    ETNA_TRY(const bool has_items, is_true(machine, self));
    if (!has_items) {
        return make_generator(machine, "sync_do_map", 1,
                              [](Machine&) { return Result<std::optional<Value>>(std::nullopt); });
    }
    if (!is_iterable(machine, self))
        return failing_generator(machine, "sync_do_map", iterate(machine, self).error());
    if (by_attribute)
        return map_attribute(machine, self, std::move(all));
    if (all.positional.empty()) {
        return failing_generator(machine, "sync_do_map",
                                 python_error("FilterArgumentError", "map requires a filter argument"));
    }
    const std::size_t depth = depth_of(self, all);
    ETNA_TRY(const auto name, string_argument(all.positional[0], "map"));
    all.positional.erase(all.positional.begin());
    ETNA_TRY(auto cursor, iterate(machine, self));
    const std::shared_ptr<Cursor> source = std::move(cursor);
    return make_generator(machine, "sync_do_map", depth,
                          [source, name, all](Machine& now) -> Result<std::optional<Value>> {
                              ETNA_TRY(const auto item, source->next(now));
                              if (!item)
                                  return item;
                              ETNA_TRY(auto value, call_filter(now, name, *item, all));
                              return std::optional<Value>(std::move(value));
                          });
}

enum class Keep : uint8_t { passing, failing };
enum class Look : uint8_t { item, attribute };

template <Keep keep, Look look>
Result<Value> select(Machine& machine, const Value& self, const Bound& arguments) {
    const std::string generator = fmt::format("sync_do_{}{}", keep == Keep::passing ? "select" : "reject",
                                              look == Look::attribute ? "attr" : "");
    ETNA_TRY(const bool has_items, is_true(machine, self));
    if (!has_items) {
        return make_generator(machine, generator, 1,
                              [](Machine&) { return Result<std::optional<Value>>(std::nullopt); });
    }
    if (!is_iterable(machine, self))
        return failing_generator(machine, generator, iterate(machine, self).error());
    Arguments all = arguments.all;
    const std::size_t depth = depth_of(self, all);
    std::vector<Value> path;
    if (look == Look::attribute) {
        if (all.positional.empty()) {
            return failing_generator(
                machine, generator,
                python_error("FilterArgumentError", "Missing parameter for attribute name"));
        }
        ETNA_TRY(path, attribute_path(all.positional.data()));
        all.positional.erase(all.positional.begin());
    }
    std::string test;
    if (!all.positional.empty()) {
        ETNA_TRY(test, string_argument(all.positional[0], "select"));
        all.positional.erase(all.positional.begin());
    }
    ETNA_TRY(auto cursor, iterate(machine, self));
    const std::shared_ptr<Cursor> source = std::move(cursor);
    return make_generator(machine, generator, depth,
                          [source, path, test, all](Machine& now) -> Result<std::optional<Value>> {
                              while (true) {
                                  ETNA_TRY(auto item, source->next(now));
                                  if (!item)
                                      return item;
                                  ETNA_CHECK(now.spend(step_work));
                                  ETNA_TRY(auto value, follow(now, *item, path));
                                  if (!test.empty()) {
                                      ETNA_TRY(value, call_test(now, test, value, all));
                                  }
                                  ETNA_TRY(const bool passes, is_true(now, value));
                                  if (passes == (keep == Keep::passing))
                                      return item;
                              }
                          });
}

Result<Value> unique(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_of(machine, arguments.at(0)));
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(auto cursor, iterate(machine, self));
    const std::shared_ptr<Cursor> source = std::move(cursor);
    const auto seen = std::make_shared<Dict>();
    return make_generator(machine, "do_unique", self.depth() + 1,
                          [source, seen, path, letters](Machine& now) -> Result<std::optional<Value>> {
                              while (true) {
                                  ETNA_TRY(auto item, source->next(now));
                                  if (!item)
                                      return item;
                                  ETNA_TRY(const auto value, follow(now, *item, path));
                                  ETNA_TRY(const auto key, key_of(now, value, letters));
                                  if (!is_hashable(key))
                                      return type_error(fmt::format("unhashable type: '{}'", type_name(key)));
                                  ETNA_CHECK(now.reserve(sizeof(Dict::Entry)));
                                  if (seen->position(key))
                                      continue;
                                  seen->set(key, Value(None{}));
                                  return item;
                              }
                          });
}

template <SortOrder order>
Result<Value> extreme(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_of(machine, arguments.at(0)));
    ETNA_TRY(const auto path, attribute_path(arguments.at(1)));
    ETNA_TRY(const auto cursor, iterate(machine, self));
    std::optional<Value> best;
    Value best_key;
    while (true) {
        ETNA_TRY(auto item, cursor->next(machine));
        if (!item)
            return best ? std::move(*best) : undefined("No aggregated item, sequence was empty.");
        ETNA_TRY(const auto value, follow(machine, *item, path));
        ETNA_TRY(auto key, key_of(machine, value, letters));
        bool is_better = !best;
        if (best) {
            ETNA_TRY(is_better,
                     ordered(machine, order == SortOrder::ascending ? Comparison::less : Comparison::greater,
                             key, best_key));
        }
        if (is_better) {
            best = std::move(item);
            best_key = std::move(key);
        }
    }
}

Result<Value> in_order(Machine& machine, const std::vector<Value>& items,
                       const std::vector<std::size_t>& places) {
    std::vector<Value> result;
    result.reserve(places.size());
    for (const std::size_t place : places)
        result.push_back(items[place]);
    return machine.list(std::move(result));
}

Result<Value> sort(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool is_reversed, flag(machine, arguments.at(0), false));
    ETNA_TRY(const Case letters, case_of(machine, arguments.at(1)));
    std::vector<std::vector<Value>> paths;
    const Value* attribute = arguments.at(2);
    if (attribute != nullptr && attribute->is(Type::string)) {
        for (const std::string& name : split(attribute->string(), ",", -1)) {
            const Value part(name);
            ETNA_TRY(auto path, attribute_path(&part));
            paths.push_back(std::move(path));
        }
    } else {
        ETNA_TRY(auto path, attribute_path(attribute));
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
    ETNA_TRY(const auto places,
             sorted_places(machine, keys, is_reversed ? SortOrder::descending : SortOrder::ascending));
    return in_order(machine, items, places);
}

Result<Value> dictsort(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const Case letters, case_of(machine, arguments.at(0)));
    std::string by = "key";
    if (const Value* given = arguments.at(1)) {
        ETNA_TRY(by, string_argument(*given, "dictsort"));
    }
    ETNA_TRY(const bool is_reversed, flag(machine, arguments.at(2), false));
    if (by != "key" && by != "value")
        return python_error("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (!self.is(Type::dict)) {
        return python_error("AttributeError",
                            fmt::format("'{}' object has no attribute 'items'", type_name(self)));
    }
    std::vector<Value> pairs;
    std::vector<Value> keys;
    for (const Dict::Entry& entry : self.dict()->entries) {
        ETNA_TRY(auto pair, machine.pair(entry.key, entry.value));
        pairs.push_back(std::move(pair));
        ETNA_TRY(auto key, key_of(machine, by == "key" ? entry.key : entry.value, letters));
        keys.push_back(std::move(key));
    }
    ETNA_TRY(const auto places,
             sorted_places(machine, keys, is_reversed ? SortOrder::descending : SortOrder::ascending));
    return in_order(machine, pairs, places);
}

Result<Value> groupby(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const auto path, attribute_path(arguments.at(0)));
    const Value* given = arguments.at(1);
    const Value* fallback = given != nullptr && !given->is(Type::none) ? given : nullptr;
    ETNA_TRY(const Case letters, case_of(machine, arguments.at(2)));
    ETNA_TRY(const auto items, items_of(machine, self));
    std::vector<Value> names;
    std::vector<Value> keys;
    for (const Value& item : items) {
        ETNA_TRY(auto name, follow(machine, item, path, fallback));
        ETNA_TRY(auto key, key_of(machine, name, letters));
        names.push_back(std::move(name));
        keys.push_back(std::move(key));
    }
    ETNA_TRY(const auto places, sorted_places(machine, keys, SortOrder::ascending));
    std::vector<Value> groups;
    for (std::size_t begin = 0; begin < places.size();) {
        std::vector<Value> members;
        std::size_t end = begin;
        while (end < places.size()) {
            ETNA_TRY(const bool same, equal(machine, keys[places[begin]], keys[places[end]]));
            if (!same)
                break;
            members.push_back(items[places[end++]]);
        }
        ETNA_TRY(auto list, machine.list(std::move(members)));
        ETNA_TRY(auto group, machine.pair(names[places[begin]], std::move(list)));
        group.sequence()->is_group = true;
        groups.push_back(std::move(group));
        begin = std::max(end, begin + 1);
    }
    return machine.list(std::move(groups));
}

constexpr Native filters_selection_table[] = {
    {"dictsort", "case_sensitive by reverse", 0, dictsort},
    {"groupby", "attribute default case_sensitive", 1, groupby},
    {"map", "*", 0, map},
    {"max", "case_sensitive attribute", 0, extreme<SortOrder::descending>},
    {"min", "case_sensitive attribute", 0, extreme<SortOrder::ascending>},
    {"reject", "*", 0, select<Keep::failing, Look::item>},
    {"rejectattr", "*", 0, select<Keep::failing, Look::attribute>},
    {"select", "*", 0, select<Keep::passing, Look::item>},
    {"selectattr", "*", 0, select<Keep::passing, Look::attribute>},
    {"sort", "reverse case_sensitive attribute", 0, sort},
    {"unique", "case_sensitive attribute", 0, unique},
};

} // namespace

std::span<const Native> selection_filters() {
    return filters_selection_table;
}

} // namespace etna::jinja
