#include "core/grammar/language.hpp"

#include <algorithm>
#include <utility>

/// Texts of an automaton with a bounded number of characters. The count is stored next to the automaton's
/// state: encoded as states, it would need one for each pair of state and count.
namespace etna::grammar {
namespace {

/// Costs of visiting the targets of a state, and of finding a count.
constexpr std::size_t looks_of_step = 5;
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

Result<Expression> Language::counted(const Automaton& automaton, const Automaton& characters, uint32_t least,
                                     uint32_t most) {
    ETNA_CHECK(check());
    if (automaton.state_count() == 0 || least > most)
        return nothing;
    const std::pair key{number_of(automaton), number_of(characters)};
    const auto known = std::find_if(counts_.begin(), counts_.end(),
                                    [&](const Counts& counts) { return counts.made_of == key; });
    const auto number = static_cast<uint32_t>(known - counts_.begin());
    if (known == counts_.end()) {
        std::vector<std::pair<uint32_t, uint32_t>> states;
        ETNA_TRY(const Automaton both, product(automaton, characters, states));
        take_steps(both.targets.size());
        counts_.push_back(
            {.made_of = key, .automaton = number_of(both), .begins = characters_begin(states, characters)});
    }
    Counts& counts = counts_[number];
    if (!counts.lengths || counts.lengths->known_to() < most) {
        std::size_t looks = 0;
        ETNA_TRY(counts.lengths, Lengths::create(automata_[counts.automaton], counts.begins, most, looks));
        take_steps(looks / looks_of_step);
        bytes_ += counts.lengths->bytes();
    }
    return add_counted(number, 0, least, most);
}

/// Tightens the bounds to the counts that occur from the state, so that equivalent bounds are equal; if they
/// exclude nothing, the result is a plain automaton.
Expression Language::add_counted(uint32_t number, uint32_t state, uint32_t least, uint32_t most) {
    take_steps(steps_of_count);
    const Counts& counts = counts_[number];
    const auto first = counts.lengths->at_least(state, least);
    if (!first || *first > most)
        return nothing;
    const auto last = counts.lengths->at_most(state, most);
    const bool is_first_of_all = least == 0 || counts.lengths->at_least(state, 0) == first;
    const bool is_last_of_all = most == unbounded || (counts.lengths->known_to() == unbounded &&
                                                      !counts.lengths->at_least(state, most + 1));
    if (is_first_of_all && is_last_of_all)
        return add({.kind = Kind::automaton, .index = counts.automaton, .state = state});
    return add({.kind = Kind::counted,
                .least = is_first_of_all ? 0 : *first,
                .most = is_last_of_all ? unbounded : *last,
                .index = number,
                .state = state});
}

Expression Language::derive_counted(const Node& node, uint8_t byte) {
    const Counts& counts = counts_[node.index];
    const uint32_t target = automata_[counts.automaton].next(node.state, byte);
    const bool is_begun = counts.begins[node.state];
    if (target == Automaton::dead || (is_begun && node.most == 0))
        return nothing;
    const uint32_t one = is_begun ? 1 : 0;
    return add_counted(node.index, target, node.least - std::min(node.least, one),
                       node.most == unbounded ? unbounded : node.most - one);
}

Expression Language::with_small_counts(Expression expression, uint32_t bytes) {
    const Node node = nodes_[expression];
    if (node.kind != Kind::counted)
        return expression;
    const Lengths& lengths = *counts_[node.index].lengths;
    take_steps(node.least > 0 ? lengths.states() : 1);
    const Lengths::Range range = lengths.shortened({.least = node.least, .most = node.most}, bytes);
    return add_counted(node.index, node.state, range.least, range.most);
}

} // namespace etna::grammar
