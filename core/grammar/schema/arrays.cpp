#include "core/grammar/schema/containers.hpp"
#include "core/grammar/schema/expansion.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Maximum number of states (positions and counts) for `contains`.
constexpr std::size_t counting_states_max = 5000;
/// Maximum number of `contains` on one list: each doubles the alternatives of an item.
constexpr std::size_t contained_max = 10;

Expression comma(const ContainerContext& context) {
    return context.language.sequence(context.language.literal(","), context.space);
}

std::size_t first_count(const ArrayConstraints& array) {
    std::size_t count = 0;
    for (const ArrayConstraints::Items& items : array.items)
        count = std::max(count, items.first.size());
    return count;
}

// Items end with the white space before the closing bracket. A list without items has the one after the
// opening bracket only.

/// Built from the last position to the first.
Expression plain_items(const ContainerContext& context, const ArrayConstraints& array) {
    Language& language = context.language;
    const CountRange& count = array.count;
    const auto first = static_cast<uint32_t>(first_count(array));
    const Expression rest = context.value_of(claims_on_item(array, first));
    const auto less = [](uint32_t all, uint32_t some) {
        return all == unbounded ? unbounded : all - std::min(all, some);
    };
    const uint32_t before = std::max<uint32_t>(first, 1); // items outside the repeat
    Expression list = language.sequence(language.repeat(language.sequence(comma(context), rest),
                                                        less(count.min, before), less(count.max, before)),
                                        context.space);
    for (uint32_t position = before; position-- > 0;) {
        const Expression item = position < first ? context.value_of(claims_on_item(array, position)) : rest;
        const Expression here =
            language.sequence(std::array{position == 0 ? empty : comma(context), item, list});
        const Expression end = position == 0 ? empty : context.space;
        list = language.either(position < count.max ? here : nothing, position >= count.min ? end : nothing);
    }
    return list;
}

/// Lists with counted items: a rule for each position and each number of previous items that match a
/// `contains`, both limited to the values that differ.
class CountedItems {
public:
    CountedItems(const ContainerContext& context, const ArrayConstraints& array)
        : context_(&context), array_(&array), last_position_(first_count(array)) {
        const auto reach = [this](uint32_t bound) {
            last_position_ = std::max<std::size_t>(last_position_, bound);
        };
        reach(array.count.min);
        reach(1);
        if (array.count.max != unbounded)
            reach(array.count.max);
        for (const ArrayConstraints::Contained& contained : array.contained)
            reach(contained.from);
    }

    Result<Expression> all() {
        if (array_->contained.size() > contained_max) {
            return Error{ErrorKind::unsupported,
                         fmt::format("more than {} `contains` apply to the same list", contained_max),
                         "use fewer of them"};
        }
        const Expression start =
            state_of({.position = 0, .counts = std::vector<uint32_t>(array_->contained.size())});
        while (!open_.empty()) {
            if (rules_.size() > counting_states_max) {
                return Error{ErrorKind::unsupported, "`contains` has bounds that are too large",
                             "make `minItems`, `maxItems`, `minContains` and `maxContains` smaller"};
            }
            ETNA_CHECK(context_->language.check());
            const auto next = open_.back();
            open_.pop_back();
            context_->language.define(next->second, rest(next->first));
        }
        return start;
    }

private:
    struct State {
        std::size_t position = 0;
        std::vector<uint32_t> counts = {};
        auto operator<=>(const State&) const = default;
    };
    using Rules = std::map<State, Expression>;

    Expression state_of(const State& state) {
        const auto [entry, is_new] = rules_.try_emplace(state, nothing);
        if (is_new) {
            entry->second = context_->language.rule("items");
            open_.push_back(entry);
        }
        return entry->second;
    }

    /// The rest of the list in this state.
    Expression rest(const State& state) {
        Language& language = context_->language;
        std::vector<Expression> alternatives;
        const bool has_all =
            std::equal(state.counts.begin(), state.counts.end(), array_->contained.begin(),
                       [](uint32_t count, const auto& contained) { return count >= contained.count.min; });
        if (state.position >= array_->count.min && has_all)
            alternatives.push_back(state.position == 0 ? empty : context_->space);
        if (state.position < array_->count.max) {
            const Expression before = state.position == 0 ? empty : comma(*context_);
            add_items(state, 0, claims_on_item(*array_, state.position), state.counts, before, alternatives);
        }
        return language.either(alternatives);
    }

    /// Adds an alternative for each subset of the counted schemas that the next item matches.
    void add_items(const State& state, std::size_t which, const Claims& claims,
                   const std::vector<uint32_t>& counts, Expression before,
                   std::vector<Expression>& alternatives) {
        if (which == counts.size()) {
            const State next = {.position = std::min(state.position + 1, last_position_), .counts = counts};
            alternatives.push_back(context_->language.sequence(
                std::array{before, context_->value_of(sorted(claims)), state_of(next)}));
            return;
        }
        const ArrayConstraints::Contained& contained = array_->contained[which];
        const bool has_upper_bound = contained.count.max != unbounded;
        const bool is_counted =
            state.position >= contained.from && (has_upper_bound || counts[which] < contained.count.min);
        if (!is_counted)
            return add_items(state, which + 1, claims, counts, before, alternatives);
        if (counts[which] < contained.count.max) {
            Claims fitting = claims;
            fitting.push_back(contained.claim);
            std::vector<uint32_t> more = counts;
            ++more[which];
            add_items(state, which + 1, fitting, more, before, alternatives);
        }
        Claims other = claims;
        if (has_upper_bound)
            other.push_back(contained.claim.negated());
        add_items(state, which + 1, other, counts, before, alternatives);
    }

    const ContainerContext* context_;
    const ArrayConstraints* array_;
    std::size_t last_position_;
    Rules rules_;
    std::vector<Rules::iterator> open_;
};

Expression bracketed(const ContainerContext& context, Expression items) {
    Language& language = context.language;
    return language.sequence(std::array{language.literal("["), context.space, items, language.literal("]")});
}

/// Lists of distinct items, compared as texts, so each item has one notation only.
Result<Expression> distinct_items(const ContainerContext& context, const ArrayConstraints& array) {
    const auto refused = [&](std::string_view what, std::string_view hint) {
        return context.document.error(ErrorKind::unsupported, *array.unique, "uniqueItems", what, hint);
    };
    std::optional<Expression> item;
    if (array.contained.empty() && first_count(array) == 0) {
        ETNA_TRY(item, context.scalars_of(claims_on_item(array, 0)));
    }
    if (!item) {
        return refused(
            "distinct items cannot be enforced if they may be lists or objects, or have schemas by position",
            "let `items` be strings, numbers or an `enum`, leave it out, or have such keywords left out "
            "(--lenient-schema)");
    }
    Language& language = context.language;
    auto made =
        language.distinct(*item, comma(context), std::max(array.count.min, uint32_t{1}), array.count.max);
    if (!made)
        return refused(made.error().message, made.error().hint);
    const Expression items = language.sequence(*made, context.space);
    return bracketed(context, array.count.min == 0 ? language.optional(items) : items);
}

} // namespace

Result<Expression> array_expression(const ContainerContext& context, const ArrayConstraints& constraints) {
    if (constraints.unique != nullptr && constraints.count.max > 1) {
        auto different = distinct_items(context, constraints);
        if (different || context.dropped == nullptr || different.error().kind != ErrorKind::unsupported)
            return different;
        context.dropped->add(*constraints.unique, "uniqueItems");
    }
    if (constraints.contained.empty())
        return bracketed(context, plain_items(context, constraints));
    ETNA_TRY(const Expression items, CountedItems(context, constraints).all());
    return bracketed(context, items);
}

} // namespace etna::grammar
