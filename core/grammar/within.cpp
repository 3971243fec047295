#include "core/grammar/within.hpp"

#include "core/grammar/derivatives.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {

Result<Expression> WithinTexts::within(Expression content, const Automaton& automaton) {
    if (automaton.state_count() > Paths::states_max) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the constraint on a grammar's texts needs {} states; the maximum is {}",
                                 automaton.state_count(), Paths::states_max),
                     "shorten its bounds"};
    }
    if (automaton.state_count() == 0 || content == nothing)
        return nothing;
    const uint32_t index = expressions_->number_of(automaton);
    PathsOf& paths = paths_[index];
    for (uint32_t state = 0; state < automaton.state_count(); ++state)
        paths.accepting.set(state, automaton.accepts[state]);
    return expressions_->add({.kind = Kind::within, .children = {content}, .index = index, .state = 0});
}

Expression WithinTexts::derive(const Node& node, uint8_t byte) {
    const uint32_t target = expressions_->automaton_at(node.index).next(node.state, byte);
    if (target == Automaton::dead)
        return nothing;
    const Expression after = derivatives_->next(node.children[0], byte);
    if (after == nothing || !leads_to_end(paths(after, node.index), node.index, target))
        return nothing;
    if (after == empty)
        return empty;
    return expressions_->add(
        {.kind = Kind::within, .children = {after}, .index = node.index, .state = target});
}

bool WithinTexts::is_productive(const Node& node) const {
    return leads_to_end(paths_.at(node.index).known.at(node.children[0]), node.index, node.state);
}

bool WithinTexts::leads_to_end(const Paths& paths, uint32_t automaton, uint32_t state) const {
    return (paths.from(state) & paths_.at(automaton).accepting).any();
}

/// Computes the paths from those of its parts, which are known.
Paths WithinTexts::paths_by_parts(Expression expression, uint32_t automaton) const {
    const Node& node = expressions_->node(expression);
    const auto& known = paths_.at(automaton).known;
    const std::size_t states = expressions_->automaton_at(automaton).state_count();
    switch (node.kind) {
    case Kind::empty_string:
        return Paths::staying(states);
    case Kind::bytes:
        return Paths::of_bytes(expressions_->automaton_at(automaton), node.set);
    case Kind::sequence:
        return known.at(node.children[0]).then(known.at(node.children[1]));
    case Kind::either: {
        Paths all = Paths::none(states);
        for (const Expression one : node.children)
            all.add(known.at(one));
        return all;
    }
    case Kind::repeat:
        return known.at(node.children[0]).repeated(node.min, node.max);
    case Kind::unit:
        return known.at(node.children[0]);
    case Kind::rule:
        return known.at(expressions_->definition(node));
    case Kind::automaton:
    case Kind::counted:
    case Kind::distinct:
    case Kind::within:
        assert(false); // see within()
        break;
    case Kind::no_string:
        break;
    }
    return Paths::none(states);
}

/// Everything that next() makes consists of parts whose paths are known.
const Paths& WithinTexts::paths(Expression expression, uint32_t automaton) {
    auto& known = paths_.at(automaton).known;
    std::vector<Expression> open = {expression};
    while (!open.empty()) {
        const Expression e = open.back();
        const std::size_t before = open.size();
        if (!known.contains(e)) {
            for (const Expression part : expressions_->node(e).children) {
                if (!known.contains(part))
                    open.push_back(part);
            }
        }
        if (open.size() > before)
            continue;
        open.pop_back();
        if (!known.contains(e))
            expressions_->charge_bytes(known.emplace(e, paths_by_parts(e, automaton)).first->second.bytes());
    }
    return known.at(expression);
}

/// The parts of an expression, through rules, whose paths are unknown; parts precede wholes, except through
/// rules.
std::vector<Expression> WithinTexts::without_paths(Expression expression, uint32_t automaton) const {
    const auto& known = paths_.at(automaton).known;
    std::vector<Expression> all;
    std::unordered_set<Expression> seen;
    const auto meet = [&](Expression e) {
        if (!known.contains(e) && seen.insert(e).second)
            all.push_back(e);
    };
    meet(expression);
    for (std::size_t at = 0; at < all.size(); ++at) {
        const Node& node = expressions_->node(all[at]);
        std::for_each(node.children.begin(), node.children.end(), meet);
        if (node.kind == Kind::rule)
            meet(expressions_->definition(node));
    }
    std::sort(all.begin(), all.end());
    return all;
}

/// Computes the least fixed point, because a rule's paths may depend on themselves. Skips expressions whose
/// parts have not changed.
void WithinTexts::find_paths(const Node& within) {
    const uint32_t automaton = within.index;
    const std::vector<Expression> all = without_paths(within.children[0], automaton);
    auto& known = paths_.at(automaton).known;
    const std::size_t states = expressions_->automaton_at(automaton).state_count();
    for (const Expression e : all)
        expressions_->charge_bytes(known.emplace(e, Paths::none(states)).first->second.bytes());
    if (!expressions_->check_bytes())
        return;
    std::unordered_set<Expression> changed(all.begin(), all.end());
    for (bool is_first = true; !changed.empty(); is_first = false) {
        std::unordered_set<Expression> changed_now;
        const auto has_changed = [&](Expression e) { return changed.contains(e) || changed_now.contains(e); };
        for (const Expression e : all) {
            const Node& node = expressions_->node(e);
            const bool is_new = is_first ||
                                std::any_of(node.children.begin(), node.children.end(), has_changed) ||
                                (node.kind == Kind::rule && has_changed(expressions_->definition(node)));
            if (!is_new)
                continue;
            Paths found = paths_by_parts(e, automaton);
            if (Paths& before = known.at(e); found != before) {
                before = std::move(found);
                changed_now.insert(e);
            }
        }
        changed = std::move(changed_now);
    }
}

} // namespace etna::grammar
