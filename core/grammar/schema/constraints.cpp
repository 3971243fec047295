#include "core/grammar/schema/constraints.hpp"

#include <algorithm>
#include <tuple>

namespace etna::grammar {
namespace {

template <class T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& one : more) {
        if (std::find(all.begin(), all.end(), one) == all.end())
            all.push_back(one);
    }
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// The one that leaves fewer numbers; `side` is -1 for upper bounds.
std::optional<Bound> tighter(const std::optional<Bound>& a, const std::optional<Bound>& b, int side) {
    if (!a || !b)
        return a ? a : b;
    const int order = compare(a->value, b->value) * side;
    if (order == 0)
        return a->is_excluded ? a : b;
    return order > 0 ? a : b;
}

void join(NumberConstraints& all, const NumberConstraints& more) {
    all.least = tighter(all.least, more.least, 1);
    all.most = tighter(all.most, more.most, -1);
    add_new(all.divisors, more.divisors);
}

bool is_empty(const NumberConstraints& number) {
    if (!number.least || !number.most)
        return false;
    const int order = compare(number.least->value, number.most->value);
    return order > 0 || (order == 0 && (number.least->is_excluded || number.most->is_excluded));
}

void join(StringConstraints& all, const StringConstraints& more) {
    all.length.join(more.length);
    add_new(all.texts, more.texts);
    add_new(all.excluded, more.excluded);
    if (!all.values) {
        all.values = more.values;
    } else if (more.values) {
        std::erase_if(*all.values, [&](const std::string& value) {
            return std::find(more.values->begin(), more.values->end(), value) == more.values->end();
        });
    }
}

bool is_empty(const StringConstraints& string) {
    const auto is_excluded = [&](const std::string& value) {
        return std::find(string.excluded.begin(), string.excluded.end(), value) != string.excluded.end();
    };
    return string.length.is_empty() ||
           (string.values && std::all_of(string.values->begin(), string.values->end(), is_excluded));
}

void join(ArrayConstraints& all, const ArrayConstraints& more) {
    all.count.join(more.count);
    append(all.items, more.items);
    append(all.contained, more.contained);
    all.unique = all.unique == nullptr ? more.unique : all.unique;
}

void join(ObjectConstraints& all, const ObjectConstraints& more) {
    all.count.join(more.count);
    append(all.members, more.members);
    add_new(all.required, more.required);
    add_new(all.absent, more.absent);
    add_new(all.names, more.names);
}

bool is_empty(const ObjectConstraints& object) {
    return object.count.is_empty() || object.required.size() > object.count.most ||
           std::any_of(object.required.begin(), object.required.end(), [&](const std::string& name) {
               return std::find(object.absent.begin(), object.absent.end(), name) != object.absent.end();
           });
}

} // namespace

std::strong_ordering Claim::operator<=>(const Claim& other) const {
    const auto key = [](const Claim& claim) {
        return std::tuple{claim.value == nullptr ? UINT32_MAX : claim.value->place, claim.kind,
                          claim.is_negated};
    };
    return key(*this) <=> key(other);
}

void CountRange::join(const CountRange& other) {
    least = std::max(least, other.least);
    most = std::min(most, other.most);
}

void Constraints::join(const Constraints& other) {
    kinds &= other.kinds;
    grammar::join(number, other.number);
    grammar::join(string, other.string);
    grammar::join(array, other.array);
    grammar::join(object, other.object);
    const auto take_away = [this](bool is_impossible, JsonKinds which) {
        if (is_impossible)
            kinds &= static_cast<JsonKinds>(~which);
    };
    take_away(is_empty(number), json_number_kinds);
    take_away(is_empty(string), json_string);
    take_away(array.count.is_empty(), json_array);
    take_away(is_empty(object), json_object);
}

} // namespace etna::grammar
