#include "core/jinja/access.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/sequences.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

std::string owner_of(const Value& value) {
    if (value.is(Type::none))
        return "None";
    if (value.is_markup())
        return "markupsafe.Markup object";
    if (value.is(Type::object))
        return value.object()->owner_name();
    return std::string(type_name(value)) + " object";
}

Value missing(Missing what) {
    return Value(std::shared_ptr<const Missing>(std::make_shared<Missing>(std::move(what))));
}

Value unsafe_attribute(const Value& object, std::string_view name) {
    return missing(
        {.hint = fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)),
         .is_unsafe = true});
}

/// Whether the name has the form of Python's special attributes, __name__.
bool is_special(std::string_view name) {
    return name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__";
}

/// Whether dict has a special attribute of that name; other names may be keys.
bool is_special_of_dicts(std::string_view name) {
    constexpr std::string_view known =
        " class class_getitem contains delattr delitem dir doc eq format ge getattribute getitem getstate gt "
        "hash "
        "init init_subclass ior iter le len lt ne new or reduce reduce_ex repr reversed ror setattr setitem "
        "sizeof str subclasshook ";
    const std::string word = fmt::format(" {} ", name.substr(2, name.size() - 4));
    return known.find(word) != std::string_view::npos;
}

/// Returns the method of a built-in type; sets `is_mutation` if it changes its object.
const Native* method_of(const Value& object, std::string_view name, bool& is_mutation) {
    const Native* found = nullptr;
    switch (object.type()) {
    case Type::string:
        for (const auto table : {string_methods(), string_questions(), string_translations()})
            found = found != nullptr ? found : find_native(table, name);
        return found;
    case Type::list:
        found = find_native(list_mutations(), name);
        is_mutation = found != nullptr;
        return found != nullptr ? found : find_native(list_methods(), name);
    case Type::tuple:
        return find_native(tuple_methods(), name);
    case Type::dict:
        found = find_native(dict_mutations(), name);
        is_mutation = found != nullptr;
        return found != nullptr ? found : find_native(dict_methods(), name);
    case Type::integer:
    case Type::large:
    case Type::boolean:
    case Type::real:
        return find_native(number_methods(object.type()), name);
    default:
        return nullptr;
    }
}

} // namespace

Result<std::optional<Value>> item_of(Machine& machine, const Value& object, const Value& key) {
    if (object.is(Type::dict)) {
        const Value* found = is_hashable(key) ? object.dict()->find(key) : nullptr;
        return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
    }
    const auto place = integer_of(key);
    const bool is_indexable = object.is(Type::string) || object.is_sequence() ||
                              (object.is(Type::object) && object.object()->is_indexable());
    if (!place || !is_indexable)
        return std::optional<Value>();
    ETNA_TRY(const std::size_t size, length_of(machine, object));
    const auto length = static_cast<int64_t>(size);
    const int64_t index = *place < 0 ? *place + length : *place;
    if (index < 0 || index >= length)
        return std::optional<Value>();
    if (object.is_sequence())
        return std::optional<Value>(object.sequence()->items[static_cast<std::size_t>(index)]);
    if (object.is(Type::object))
        return object.object()->item(static_cast<std::size_t>(index));
    std::size_t position = 0;
    for (int64_t i = 0; i < index; ++i)
        position += decode_at(object.string(), position).bytes;
    const std::size_t bytes = decode_at(object.string(), position).bytes;
    ETNA_TRY(auto character, machine.text(object.string().substr(position, bytes), object.is_markup()));
    return std::optional<Value>(std::move(character));
}

Value missing_attribute(const Value& object, const Value& name) {
    return missing({.owner = owner_of(object), .name = name});
}

Result<std::optional<Value>> attribute_of(Machine& machine, const Value& object, std::string_view name) {
    if (is_special(name) && !(object.is(Type::dict) && !is_special_of_dicts(name)))
        return std::optional<Value>(unsafe_attribute(object, name));
    if (object.is(Type::object))
        return object.object()->attribute(machine, name);
    if (object.is(Type::tuple) && object.sequence()->is_group && (name == "grouper" || name == "list"))
        return std::optional<Value>(object.sequence()->items[name == "list" ? 1 : 0]);
    if (is_number(object)) {
        ETNA_TRY(auto found, number_attribute(machine, object, name));
        if (found)
            return found;
    }
    bool is_mutation = false;
    const Native* method = method_of(object, name, is_mutation);
    if (method == nullptr)
        return std::optional<Value>();
    if (is_mutation && machine.mutation() == Mutation::refused)
        return std::optional<Value>(unsafe_attribute(object, name));
    ETNA_TRY(auto bound, bound_method(machine, object, *method));
    return std::optional<Value>(std::move(bound));
}

Result<Value> attribute(Machine& machine, const Value& object, std::string_view name) {
    if (object.is(Type::undefined))
        return name == "__class__" ? unsafe_attribute(object, name) : Result<Value>(undefined_error(object));
    ETNA_TRY(auto found, attribute_of(machine, object, name));
    if (found)
        return std::move(*found);
    if (object.is(Type::dict)) {
        if (const Value* item = object.dict()->find(name))
            return *item;
    }
    return missing_attribute(object, Value(name));
}

Result<Value> subscript(Machine& machine, const Value& object, const Value& key) {
    if (object.is(Type::undefined))
        return undefined_error(object);
    ETNA_TRY(auto item, item_of(machine, object, key));
    if (item)
        return std::move(*item);
    if (key.is(Type::string)) {
        ETNA_TRY(auto found, attribute_of(machine, object, key.string()));
        if (found)
            return std::move(*found);
    }
    return missing_attribute(object, key);
}

Result<std::optional<SlicePlaces>> slice_places(const Value& start, const Value& stop, const Value& step,
                                                std::size_t length) {
    for (const Value* part : {&start, &stop, &step}) {
        if (!part->is(Type::none) && !clamped_integer_of(*part))
            return std::optional<SlicePlaces>();
    }
    const int64_t stride = step.is(Type::none) ? 1 : *clamped_integer_of(step);
    if (stride == 0)
        return value_error("slice step cannot be zero");
    const auto size = static_cast<int64_t>(length);
    const int64_t lowest = stride < 0 ? -1 : 0;
    const int64_t highest = stride < 0 ? size - 1 : size;
    const auto place = [&](const Value& part, int64_t fallback) {
        if (part.is(Type::none))
            return fallback;
        const int64_t given = *clamped_integer_of(part);
        return std::clamp(given < 0 ? given + size : given, lowest, highest);
    };
    const int64_t first = place(start, stride < 0 ? highest : lowest);
    const int64_t last = place(stop, stride < 0 ? lowest : highest);
    const int64_t distance = stride < 0 ? first - last : last - first;
    const uint64_t stride_size =
        stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
    const uint64_t count = distance <= 0 ? 0 : (static_cast<uint64_t>(distance) - 1) / stride_size + 1;
    return std::optional<SlicePlaces>(SlicePlaces{first, stride, static_cast<std::size_t>(count)});
}

Result<Value> sliced(Machine& machine, const Value& object, const Value& start, const Value& stop,
                     const Value& step) {
    if (object.is(Type::undefined))
        return undefined_error(object);
    const bool is_range = object.is(Type::object) && object.object()->is_indexable();
    if (object.is(Type::string) || object.is_sequence() || is_range) {
        ETNA_TRY(const std::size_t length, length_of(machine, object));
        ETNA_TRY(const auto places, slice_places(start, stop, step, length));
        if (places && is_range)
            return sliced_range(machine, object, *places);
        if (places && object.is(Type::string)) {
            ETNA_CHECK(machine.reserve(length * 4));
            const std::u32string letters = decode(object.string());
            std::u32string out;
            for (std::size_t i = 0; i < places->count; ++i) {
                out +=
                    letters[static_cast<std::size_t>(places->start + static_cast<int64_t>(i) * places->step)];
            }
            return machine.text(encode(out), object.is_markup());
        }
        if (places) {
            std::vector<Value> items;
            items.reserve(places->count);
            for (std::size_t i = 0; i < places->count; ++i) {
                const int64_t place = places->start + static_cast<int64_t>(i) * places->step;
                items.push_back(object.sequence()->items[static_cast<std::size_t>(place)]);
            }
            return object.is(Type::list) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
        }
    }
    if (object.is(Type::string) || object.is_sequence() || is_range)
        return type_error("slice indices must be integers or None or have an __index__ method");
    if (object.is(Type::dict))
        return type_error("unhashable type: 'slice'");
    return type_error(fmt::format("'{}' object is not subscriptable", type_name(object)));
}

} // namespace etna::jinja
