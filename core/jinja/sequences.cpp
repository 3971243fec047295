// Iteration, and the iterable values other than lists: ranges, views of dicts and generators.

#include "core/jinja/operators.hpp"
#include "core/jinja/text.hpp"

namespace etna::jinja {
namespace {

/// Iterates over a list, including items that the template appends during the iteration.
Cursor iterate_list(std::shared_ptr<List> list) {
    return [list = std::move(list), next = std::size_t{0}](Machine& /*machine*/) mutable {
        const bool ends = next >= list->items.size();
        return Result<OptionalValue>(ends ? std::nullopt : OptionalValue(list->items[next++]));
    };
}

Cursor iterate_dict(std::shared_ptr<Dict> dict, View view) {
    const std::size_t size = dict->entries.size();
    return [dict = std::move(dict), view, size,
            next = std::size_t{0}](Machine& machine) mutable -> Result<OptionalValue> {
        if (dict->entries.size() != size)
            return python_error("RuntimeError", "dictionary changed size during iteration");
        if (next == size)
            return OptionalValue();
        const Dict::Entry& entry = dict->entries[next++];
        if (view != View::items)
            return OptionalValue(view == View::keys ? entry.key : entry.value);
        ETNA_TRY(auto pair, machine.tuple({entry.key, entry.value}));
        return OptionalValue(std::move(pair));
    };
}

class Range final : public Object {
public:
    Range(std::size_t depth, std::shared_ptr<List> list) : Object(depth), list_(std::move(list)) {}

    [[nodiscard]] std::string_view type_name() const override { return "range"; }
    Result<std::optional<std::size_t>> length(Machine& /*machine*/) override {
        return std::optional(list_->items.size());
    }
    Cursor iterate() override { return iterate_list(list_); }
    [[nodiscard]] const List* indexed_items() const override { return list_.get(); }

private:
    std::shared_ptr<List> list_;
};

class DictView final : public Object {
public:
    DictView(std::size_t depth, std::shared_ptr<Dict> dict, View view)
        : Object(depth), dict_(std::move(dict)), view_(view) {}

    [[nodiscard]] std::string_view type_name() const override {
        constexpr std::string_view names[] = {"dict_items", "dict_keys", "dict_values"};
        return names[static_cast<std::size_t>(view_)];
    }
    Result<std::optional<std::size_t>> length(Machine& /*machine*/) override {
        return std::optional(dict_->entries.size());
    }
    Cursor iterate() override { return iterate_dict(dict_, view_); }

private:
    std::shared_ptr<Dict> dict_;
    View view_;
};

class Generator final : public Object {
public:
    Generator(std::size_t depth, std::shared_ptr<List> list)
        : Object(depth), cursor_(std::make_shared<Cursor>(iterate_list(std::move(list)))) {}

    [[nodiscard]] std::string_view type_name() const override { return "generator"; }
    /// All iterations share one cursor: a generator runs only once.
    Cursor iterate() override {
        return [cursor = cursor_](Machine& machine) { return (*cursor)(machine); };
    }

private:
    std::shared_ptr<Cursor> cursor_;
};

} // namespace

bool is_iterable(const Value& value) {
    if (value.is(Type::object))
        return static_cast<bool>(value.object()->iterate());
    return value.is(Type::undefined) || value.is(Type::string) || value.is_sequence() || value.is(Type::dict);
}

Cursor iterate_items(std::vector<Value> items) {
    return [items = std::move(items), next = std::size_t{0}](Machine& /*machine*/) mutable {
        return Result<OptionalValue>(next < items.size() ? OptionalValue(items[next++]) : std::nullopt);
    };
}

Result<Cursor> iterate(const Value& value) {
    if (value.is(Type::undefined))
        return iterate_items({});
    if (value.is(Type::string)) {
        return Cursor([value, position = std::size_t{0}](Machine& machine) mutable -> Result<OptionalValue> {
            const std::string& bytes = value.string();
            if (position == bytes.size())
                return OptionalValue();
            const std::size_t begin = position;
            position += decode_at(bytes, begin).bytes;
            ETNA_TRY(auto character, machine.text(bytes.substr(begin, position - begin)));
            return OptionalValue(std::move(character));
        });
    }
    if (value.is_sequence())
        return iterate_list(value.sequence());
    if (value.is(Type::dict))
        return iterate_dict(value.dict(), View::keys);
    Cursor cursor = value.is(Type::object) ? value.object()->iterate() : Cursor();
    if (!cursor)
        return type_error("'{}' object is not iterable", type_name(value));
    return cursor;
}

Result<std::vector<Value>> collect(Machine& machine, const Cursor& cursor) {
    std::vector<Value> items;
    while (true) {
        ETNA_TRY(auto next, cursor(machine));
        if (!next)
            return items;
        ETNA_CHECK(machine.spend(sizeof(Value)));
        ETNA_CHECK(machine.room_for(items.size() * sizeof(Value)));
        items.push_back(std::move(*next));
    }
}

Result<std::vector<Value>> items_of(Machine& machine, const Value& value) {
    ETNA_TRY(const auto cursor, iterate(value));
    return collect(machine, cursor);
}

const List* indexed_items(const Value& value) {
    if (value.is(Type::object))
        return value.object()->indexed_items();
    return value.is_sequence() ? value.sequence().get() : nullptr;
}

Result<Value> make_range(Machine& machine, const Arguments& arguments) {
    if (!arguments.keyword.empty())
        return type_error("range() takes no keyword arguments");
    if (arguments.positional.empty() || arguments.positional.size() > 3)
        return type_error("range expected 1 to 3 arguments, got {}", arguments.positional.size());
    int64_t parts[3] = {0, 0, 1};
    const std::size_t first = arguments.positional.size() == 1 ? 1 : 0;
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
        ETNA_TRY(parts[first + i], integer_argument(arguments.positional[i]));
    }
    const auto [start, stop, step] = parts;
    if (step == 0)
        return value_error("range() arg 3 must not be zero");
    const auto length_max = static_cast<std::size_t>(machine.limits().range_length);
    std::vector<Value> items;
    for (int64_t next = start; step > 0 ? next < stop : next > stop;) {
        if (items.size() == length_max) {
            return python_error("OverflowError",
                                "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).",
                                length_max);
        }
        items.emplace_back(next);
        if (__builtin_add_overflow(next, step, &next))
            break;
    }
    ETNA_TRY(const auto list, machine.list(std::move(items)));
    return machine.object<Range>(0, list.sequence());
}

Result<Value> make_view(Machine& machine, const Value& dict, View view) {
    return machine.object<DictView>(dict.depth() + 1, dict.dict(), view);
}

Result<Value> make_generator(Machine& machine, std::vector<Value> items) {
    ETNA_TRY(const auto list, machine.list(std::move(items)));
    return machine.object<Generator>(list.depth(), list.sequence());
}

Result<std::vector<Value>> pairs_of(Machine& machine, const Value& dict) {
    return collect(machine, iterate_dict(dict.dict(), View::items));
}

} // namespace etna::jinja
