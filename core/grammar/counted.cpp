#include "core/grammar/counted.hpp"

#include <algorithm>

namespace etna::grammar {
namespace {

/// Costs of visiting the targets of a state, and of finding a count.
constexpr std::size_t visits_of_step = 5;
constexpr uint64_t steps_of_count = 2;

/// The states at which a character may begin: `characters` accepts any number of characters.
std::vector<bool> characters_begin(const std::vector<std::pair<uint32_t, uint32_t>>& states,
                                   const Automaton& characters) {
    std::vector<bool> begins;
    begins.reserve(states.size());
    for (const auto& [state, of_character] : states)
        begins.push_back(characters.accepts[of_character]);
    return begins;
}

} // namespace

Result<Expression> CountedTexts::counted(const Automaton& automaton, const Automaton& characters,
                                         uint32_t min, uint32_t max) {
    ETNA_CHECK(expressions_->check());
    if (automaton.state_count() == 0 || min > max)
        return nothing;
    const std::pair key{expressions_->number_of(automaton), expressions_->number_of(characters)};
    const auto known = std::find_if(counts_.begin(), counts_.end(),
                                    [&](const Counts& counts) { return counts.factors == key; });
    const auto number = static_cast<uint32_t>(known - counts_.begin());
    if (known == counts_.end()) {
        std::vector<std::pair<uint32_t, uint32_t>> states;
        ETNA_TRY(const Automaton both, product(automaton, characters, states));
        expressions_->charge_steps(both.targets.size());
        counts_.push_back({.factors = key,
                           .automaton = expressions_->number_of(both),
                           .begins = characters_begin(states, characters)});
    }
    Counts& counts = counts_[number];
    if (!counts.lengths || counts.lengths->known_to() < max) {
        std::size_t visits = 0;
        ETNA_TRY(counts.lengths,
                 Lengths::create(expressions_->automaton_at(counts.automaton), counts.begins, max, visits));
        expressions_->charge_steps(visits / visits_of_step);
        expressions_->charge_bytes(counts.lengths->bytes());
    }
    return add(number, 0, min, max);
}

/// Tightens the bounds to the counts that occur from the state, so that equivalent bounds are equal; if they
/// exclude nothing, the result is a plain automaton.
Expression CountedTexts::add(uint32_t number, uint32_t state, uint32_t min, uint32_t max) {
    expressions_->charge_steps(steps_of_count);
    const Counts& counts = counts_[number];
    const auto first = counts.lengths->at_least(state, min);
    if (!first || *first > max)
        return nothing;
    const auto last = counts.lengths->at_most(state, max);
    const bool is_first_of_all = min == 0 || counts.lengths->at_least(state, 0) == first;
    const bool is_last_of_all = max == unbounded || (counts.lengths->known_to() == unbounded &&
                                                     !counts.lengths->at_least(state, max + 1));
    if (is_first_of_all && is_last_of_all)
        return expressions_->add({.kind = Kind::automaton, .index = counts.automaton, .state = state});
    const uint32_t smallest = is_first_of_all ? 0 : *first;
    const bool is_nullable = smallest == 0 && expressions_->automaton_at(counts.automaton).accepts[state];
    return expressions_->add({.kind = Kind::counted,
                              .min = smallest,
                              .max = is_last_of_all ? unbounded : *last,
                              .index = number,
                              .state = state},
                             is_nullable ? Nullable::yes : Nullable::no);
}

Expression CountedTexts::derive(const Node& node, uint8_t byte) {
    const Counts& counts = counts_[node.index];
    const uint32_t target = expressions_->automaton_at(counts.automaton).next(node.state, byte);
    const bool is_begun = counts.begins[node.state];
    if (target == Automaton::dead || (is_begun && node.max == 0))
        return nothing;
    const uint32_t one = is_begun ? 1 : 0;
    return add(node.index, target, node.min - std::min(node.min, one),
               node.max == unbounded ? unbounded : node.max - one);
}

Expression CountedTexts::with_small_counts(Expression expression, uint32_t bytes) {
    const Node node = expressions_->node(expression);
    if (node.kind != Kind::counted)
        return expression;
    const Lengths& lengths = *counts_[node.index].lengths;
    expressions_->charge_steps(node.min > 0 ? lengths.states() : 1);
    const Lengths::Range range = lengths.shortened({.min = node.min, .max = node.max}, bytes);
    return add(node.index, node.state, range.min, range.max);
}

} // namespace etna::grammar
