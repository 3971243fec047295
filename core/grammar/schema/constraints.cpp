#include "core/grammar/schema/constraints.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace etna::grammar {
namespace {

/// Lists up to this length are searched linearly.
constexpr std::size_t short_list = 8;

/// A fast membership test for a list of texts. Borrows the list.
class Among {
public:
    explicit Among(const std::vector<std::string>& texts, std::size_t questions) : texts_(&texts) {
        if (texts.size() > short_list && questions > short_list)
            sorted_.insert(texts.begin(), texts.end());
    }
    [[nodiscard]] bool contains(const std::string& text) const {
        return sorted_.empty() ? std::find(texts_->begin(), texts_->end(), text) != texts_->end()
                               : sorted_.contains(text);
    }

private:
    const std::vector<std::string>* texts_;
    std::set<std::string_view> sorted_;
};

template <class T>
void add_new(std::vector<T>& all, const std::vector<T>& more) {
    for (const T& one : more) {
        if (std::find(all.begin(), all.end(), one) == all.end())
            all.push_back(one);
    }
}

void add_new_texts(std::vector<std::string>& all, const std::vector<std::string>& more) {
    if (more.size() <= short_list)
        return add_new(all, more);
    std::set<std::string, std::less<>> known(all.begin(), all.end());
    for (const std::string& one : more) {
        if (known.insert(one).second)
            all.push_back(one);
    }
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

/// The tighter of two bounds; `side` is -1 for upper bounds.
std::optional<Bound> tighter(const std::optional<Bound>& a, const std::optional<Bound>& b, int side) {
    if (!a || !b)
        return a ? a : b;
    const int order = compare(a->value, b->value) * side;
    if (order == 0)
        return a->is_excluded ? a : b;
    return order > 0 ? a : b;
}

void join(NumberConstraints& all, const NumberConstraints& more) {
    all.lower = tighter(all.lower, more.lower, 1);
    all.upper = tighter(all.upper, more.upper, -1);
    add_new(all.divisors, more.divisors);
}

/// Whether no number is between the bounds.
bool are_crossed(const std::optional<Bound>& lower, const std::optional<Bound>& upper) {
    if (!lower || !upper)
        return false;
    const int order = compare(lower->value, upper->value);
    return order > 0 || (order == 0 && (lower->is_excluded || upper->is_excluded));
}

bool is_empty(const NumberConstraints& number) {
    return are_crossed(number.lower, number.upper);
}

void join(StringConstraints& all, const StringConstraints& more) {
    all.length.join(more.length);
    add_new(all.texts, more.texts);
    add_new_texts(all.excluded, more.excluded);
    if (!all.values) {
        all.values = more.values;
    } else if (more.values) {
        const Among allowed(*more.values, all.values->size());
        std::erase_if(*all.values, [&](const std::string& value) { return !allowed.contains(value); });
    }
}

bool is_empty(const StringConstraints& string) {
    if (string.length.is_empty() || !string.values)
        return string.length.is_empty();
    const Among excluded(string.excluded, string.values->size());
    return std::all_of(string.values->begin(), string.values->end(),
                       [&](const std::string& value) { return excluded.contains(value); });
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
    add_new_texts(all.required, more.required);
    add_new_texts(all.absent, more.absent);
    add_new(all.names, more.names);
}

bool have_common(const std::vector<std::string>& some, const std::vector<std::string>& others) {
    if (some.empty() || others.empty())
        return false;
    const Among known(others, some.size());
    return std::any_of(some.begin(), some.end(), [&](const std::string& one) { return known.contains(one); });
}

bool is_empty(const ObjectConstraints& object) {
    return object.count.is_empty() || object.required.size() > object.count.max ||
           have_common(object.required, object.absent);
}

bool are_crossed(const CountRange& one, const CountRange& other) {
    return std::max(one.min, other.min) > std::min(one.max, other.max);
}

/// Whether two short lists of values are disjoint.
bool are_disjoint(const StringConstraints& one, const StringConstraints& other) {
    return one.values && other.values && one.values->size() <= short_list &&
           other.values->size() <= short_list && !have_common(*one.values, *other.values);
}

std::size_t bytes_of(const std::vector<std::string>& texts) {
    std::size_t bytes = 0;
    for (const std::string& text : texts)
        bytes += sizeof(text) + text.size();
    return bytes;
}

std::size_t bytes_of(const ObjectConstraints& object) {
    std::size_t bytes = bytes_of(object.required) + bytes_of(object.absent);
    for (const ObjectConstraints::Members& members : object.members) {
        bytes += sizeof(members) +
                 (members.named.size() + members.patterns.size()) * sizeof(ObjectConstraints::Named);
    }
    return bytes + object.names.size() * sizeof(Claim);
}

std::size_t bytes_of(const ArrayConstraints& array) {
    std::size_t bytes = array.contained.size() * sizeof(ArrayConstraints::Contained);
    for (const ArrayConstraints::Items& items : array.items)
        bytes += sizeof(items) + items.first.size() * sizeof(Claim);
    return bytes;
}

std::size_t bytes_of(const StringConstraints& string) {
    std::size_t bytes = bytes_of(string.excluded) + (string.values ? bytes_of(*string.values) : 0);
    for (const StringConstraints::Text& text : string.texts)
        bytes += sizeof(text) + text.text.size();
    return bytes;
}

/// Number of comparisons in add_new_texts().
std::size_t cost_of_new(const std::vector<std::string>& all, const std::vector<std::string>& more) {
    return more.empty() ? 0 : all.size() * std::min(more.size(), short_list) + more.size();
}

} // namespace

uint64_t Claim::key() const {
    const uint64_t id = value == nullptr ? UINT32_MAX : value->id;
    return id * 4 + (kind == Kind::constant ? 2 : 0) + (is_negated ? 1 : 0);
}

std::strong_ordering Claim::operator<=>(const Claim& other) const {
    return key() <=> other.key();
}

void CountRange::join(const CountRange& other) {
    min = std::max(min, other.min);
    max = std::min(max, other.max);
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
    const bool may_be_empty_now =
        other.object.count != CountRange{} || !other.object.required.empty() || !other.object.absent.empty();
    take_away(may_be_empty_now && is_empty(object), json_object);
}

JsonKinds Constraints::kinds_with(const Constraints& other) const {
    JsonKinds left = kinds & other.kinds;
    const auto take_away = [&left](bool is_impossible, JsonKinds which) {
        if (is_impossible)
            left &= static_cast<JsonKinds>(~which);
    };
    take_away(are_crossed(number.lower, other.number.upper) || are_crossed(other.number.lower, number.upper),
              json_number_kinds);
    take_away(are_crossed(string.length, other.string.length) || are_disjoint(string, other.string),
              json_string);
    take_away(are_crossed(array.count, other.array.count), json_array);
    take_away(are_crossed(object.count, other.object.count) ||
                  have_common(object.required, other.object.absent) ||
                  have_common(other.object.required, object.absent),
              json_object);
    return left;
}

std::size_t Constraints::cost_of_join(const Constraints& other) const {
    const std::size_t of_values = (string.values || other.string.values)
                                      ? (string.values ? string.values->size() : 0) +
                                            (other.string.values ? other.string.values->size() : 0) +
                                            string.excluded.size() + other.string.excluded.size()
                                      : 0;
    const std::size_t of_names = other.object.required.empty() && other.object.absent.empty()
                                     ? 0
                                     : object.required.size() + object.absent.size();
    return number.divisors.size() * other.number.divisors.size() +
           string.texts.size() * other.string.texts.size() + of_values + of_names +
           cost_of_new(string.excluded, other.string.excluded) +
           cost_of_new(object.required, other.object.required) +
           cost_of_new(object.absent, other.object.absent) + object.names.size() * other.object.names.size();
}

std::size_t Constraints::bytes() const {
    return sizeof(*this) + number.divisors.size() * sizeof(NumberConstraints::Divisor) + bytes_of(string) +
           bytes_of(array) + bytes_of(object);
}

} // namespace etna::grammar
