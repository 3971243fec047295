#include "core/grammar/derivatives.hpp"

#include "core/grammar/counted.hpp"
#include "core/grammar/distinct.hpp"
#include "core/grammar/within.hpp"

#include <array>
#include <cassert>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Maximum recursion depth of derive(), through nested rules and optional parts at the start of an
/// expression. Anything deeper is derived first, separately.
constexpr uint32_t derivation_depth_max = 500;

/// Alternatives with a cached next() that one step covers; uncached ones are charged separately.
constexpr std::size_t cached_alternatives_of_step = 4;

/// Costs of an uncached next(), without the expressions that it builds, and of the first table of all bytes:
/// measured with tens of thousands of parallel alternatives.
constexpr uint64_t steps_of_derivation = 10;
constexpr uint64_t steps_of_table = 50;

/// From this many alternatives on, only those that may begin with the byte are derived.
constexpr std::size_t many_alternatives = 32;
/// Maximum expressions visited to find the first bytes of an alternative, a step each.
constexpr int visits_of_alternative = 32;
/// Memory use of the cached first bytes of many alternatives.
constexpr std::size_t bytes_of_first_set = sizeof(std::pair<Expression, ByteSet>) + 32;

constexpr ByteSet any_byte = ByteSet{}.complement();

/// Maximum number of alternatives over all states and byte classes: nested counts have many.
constexpr std::size_t alternatives_max = 4'000'000;

/// Cost of computing and storing one target.
constexpr uint64_t steps_of_target = 10;
/// Cost of one target in minimised().
constexpr uint64_t steps_of_minimised_target = 3;

/// A partition of the bytes into classes that no given set splits.
class ByteClasses {
public:
    void cut(const ByteSet& set) {
        std::array<int, 256> inside = {}; // new class of the bytes in the set, by old class; 0: none
        for (int byte = 0; byte < 256; ++byte) {
            if (!set.contains(static_cast<uint8_t>(byte)))
                continue;
            int& moved = inside[class_of_[byte]];
            if (moved == 0)
                moved = count_++;
            class_of_[byte] = moved;
        }
        renumber();
    }

    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] int of(int byte) const { return class_of_[byte]; }

private:
    /// Renumbers from 0, without empty classes.
    void renumber() {
        std::array<int, 512> number_of;
        number_of.fill(-1);
        count_ = 0;
        for (int& one : class_of_) {
            if (number_of[one] < 0)
                number_of[one] = count_++;
            one = number_of[one];
        }
    }

    std::array<int, 256> class_of_ = {};
    int count_ = 1;
};

} // namespace

Expression Derivatives::next(Expression from, std::string_view text) {
    for (const char byte : text) {
        if (from == nothing)
            break;
        from = next(from, static_cast<uint8_t>(byte));
    }
    return from;
}

/// Uses little stack at any depth: if derive() would recurse too deeply it returns without a result, and is
/// called again once the skipped result is known. This terminates because left recursion is refused.
Expression Derivatives::next(Expression from, uint8_t byte) {
    Expression result = find_next(from, byte);
    if (too_deep_ == nothing || depth_ > 0)
        return result;
    std::vector<Expression> open = {from};
    while (!open.empty() && !expressions_->is_spent()) {
        if (too_deep_ != nothing)
            open.push_back(std::exchange(too_deep_, nothing));
        result = find_next(open.back(), byte);
        if (too_deep_ == nothing)
            open.pop_back();
    }
    too_deep_ = nothing;
    return open.empty() ? result : nothing;
}

Expression Derivatives::find_next(Expression from, uint8_t byte) {
    if (const Expression known = expressions_->transitions(from).find(byte); known != Transitions::unknown)
        return known;
    if (expressions_->is_spent() || too_deep_ != nothing) // results are incomplete and cannot be cached
        return nothing;
    if (depth_ == derivation_depth_max) {
        too_deep_ = from;
        return nothing;
    }
    ++depth_;
    expressions_->charge_steps(steps_of_derivation);
    const Expression result = derive(from, byte);
    --depth_;
    if (!expressions_->is_spent() &&
        too_deep_ == nothing) { // otherwise it may only lack memory, steps or depth
        const std::size_t bytes = expressions_->transitions(from).add(byte, result);
        expressions_->charge_steps(bytes >= Transitions::table_bytes ? steps_of_table : 0);
        expressions_->charge_bytes(bytes);
    }
    return result;
}

/// No reference into a node is held while others are made, because expressions grow.
Expression Derivatives::derive(Expression from, uint8_t byte) {
    switch (expressions_->node(from).kind) {
    case Kind::no_string:
    case Kind::empty_string:
        return nothing;
    case Kind::bytes:
        return expressions_->node(from).set.contains(byte) ? empty : nothing;
    case Kind::sequence:
        return derive_sequence(from, byte);
    case Kind::either:
        return derive_either(from, byte);
    case Kind::repeat: {
        const Expression item = expressions_->node(from).children[0];
        const uint32_t min = expressions_->node(from).min;
        const uint32_t max = expressions_->node(from).max;
        const Expression after = next(item, byte);
        if (after == nothing)
            return nothing;
        return expressions_->sequence(after, expressions_->repeat(item, min == 0 ? 0 : min - 1,
                                                                  max == unbounded ? unbounded : max - 1));
    }
    case Kind::unit:
        return expressions_->unit(next(expressions_->node(from).children[0], byte));
    case Kind::automaton: {
        const uint32_t index = expressions_->node(from).index;
        const uint32_t target = expressions_->automaton_at(index).next(expressions_->node(from).state, byte);
        if (target == Automaton::dead)
            return nothing;
        return expressions_->add({.kind = Kind::automaton, .index = index, .state = target});
    }
    case Kind::counted: {
        const Node node = expressions_->node(from);
        return counted_->derive(node, byte);
    }
    case Kind::distinct: {
        const Node node = expressions_->node(from);
        return distinct_->derive(node, byte);
    }
    case Kind::within: {
        const Node node = expressions_->node(from);
        return within_->derive(node, byte);
    }
    case Kind::rule:
        return next(expressions_->definition(from), byte);
    }
    return nothing;
}

/// Collects the alternatives of a chain of nullable parts before they are joined: joined part by part, their
/// number would enter squared.
Expression Derivatives::derive_sequence(Expression from, uint8_t byte) {
    std::vector<Expression> all;
    for (Expression part = from;;) {
        const Expression head = expressions_->node(part).children[0];
        const Expression tail = expressions_->node(part).children[1];
        const Expression through = expressions_->sequence(next(head, byte), tail);
        if (through != nothing)
            all.push_back(through);
        if (!expressions_->is_nullable(head) || expressions_->is_spent() || too_deep_ != nothing)
            break;
        const bool is_known = expressions_->transitions(tail).find(byte) != Transitions::unknown;
        if (is_known || expressions_->node(tail).kind != Kind::sequence) {
            all.push_back(next(tail, byte));
            break;
        }
        expressions_->charge_steps(steps_of_derivation);
        part = tail;
    }
    return expressions_->either(all);
}

Expression Derivatives::derive_either(Expression from, uint8_t byte) {
    const std::size_t count = expressions_->node(from).children.size();
    const ByteSet first = count < many_alternatives ? any_byte : first_of_alternatives(from);
    if (!first.contains(byte))
        return nothing;
    const bool is_sifted = first != any_byte; // otherwise an alternative's first bytes are unknown
    expressions_->charge_steps(count / cached_alternatives_of_step);
    std::vector<Expression> all;
    for (std::size_t i = 0; i < count; ++i) {
        const Expression one = expressions_->node(from).children[i];
        const bool is_known = expressions_->transitions(one).find(byte) != Transitions::unknown;
        if (is_sifted && !is_known && !first_of(one).contains(byte))
            continue;
        if (const Expression after = next(one, byte); after != nothing)
            all.push_back(after);
    }
    return expressions_->either(all);
}

const ByteSet& Derivatives::first_of_alternatives(Expression many) {
    const auto [entry, is_new] = first_of_alternatives_.try_emplace(many);
    if (is_new) {
        for (const Expression one : expressions_->node(many).children)
            entry->second |= first_of(one);
        expressions_->charge_bytes(bytes_of_first_set);
    }
    return entry->second;
}

ByteSet Derivatives::first_of(Expression expression) {
    int visits = visits_of_alternative;
    const ByteSet first = first_of(expression, visits);
    expressions_->charge_steps(static_cast<std::size_t>(visits_of_alternative - visits));
    return first;
}

ByteSet Derivatives::first_of(Expression expression, int& visits) const {
    if (visits-- == 0)
        return any_byte;
    const Node& node = expressions_->node(expression);
    switch (node.kind) {
    case Kind::no_string:
    case Kind::empty_string:
        return {};
    case Kind::bytes:
        return node.set;
    case Kind::sequence:
    case Kind::either: {
        ByteSet all;
        for (const Expression part : node.children) {
            all |= first_of(part, visits);
            if (visits < 0 || (node.kind == Kind::sequence && expressions_->nullable(part) == Nullable::no))
                break;
        }
        return all;
    }
    case Kind::repeat:
    case Kind::unit:
    case Kind::within:
        return first_of(node.children[0], visits);
    case Kind::rule:
        return first_of(expressions_->definition(node), visits);
    case Kind::automaton:
    case Kind::counted:
    case Kind::distinct:
        break;
    }
    return any_byte;
}

/// Every set of bytes in the expression; its derivatives contain no others.
std::vector<ByteSet> Derivatives::byte_sets(Expression regular) const {
    std::vector<ByteSet> sets;
    std::unordered_set<Expression> seen = {regular};
    std::vector<Expression> open = {regular};
    while (!open.empty()) {
        const Node& node = expressions_->node(open.back());
        open.pop_back();
        if (node.kind == Kind::bytes)
            sets.push_back(node.set);
        const bool is_counted = node.kind == Kind::counted;
        if (is_counted || node.kind == Kind::automaton || node.kind == Kind::within) {
            const Automaton& automaton =
                is_counted ? counted_->automaton_of(node) : expressions_->automaton_at(node.index);
            sets.resize(sets.size() + automaton.class_count);
            ByteSet* const of_class = &sets[sets.size() - automaton.class_count];
            for (int byte = 0; byte < 256; ++byte)
                of_class[automaton.class_of[byte]] |= ByteSet::one(static_cast<uint8_t>(byte));
        }
        for (const Expression child : node.children) {
            if (seen.insert(child).second)
                open.push_back(child);
        }
    }
    return sets;
}

Result<Automaton> Derivatives::automaton(Expression regular) {
    ByteClasses classes;
    for (const ByteSet& set : byte_sets(regular))
        classes.cut(set);
    Automaton raw;
    raw.class_count = static_cast<uint32_t>(classes.count());
    std::vector<uint8_t> byte_of(raw.class_count); // a byte of each class
    for (int byte = 0; byte < 256; ++byte) {
        raw.class_of[byte] = static_cast<uint8_t>(classes.of(byte));
        byte_of[classes.of(byte)] = static_cast<uint8_t>(byte);
    }
    std::unordered_map<Expression, uint32_t> number_of = {{regular, 0}};
    std::vector<Expression> states = {regular};
    std::size_t alternatives = 0;
    for (std::size_t at = 0; at < states.size(); ++at) {
        raw.accepts.push_back(expressions_->is_nullable(states[at]));
        for (const uint8_t byte : byte_of) {
            const Expression target = next(states[at], byte);
            if (target == nothing) {
                raw.targets.push_back(Automaton::dead);
                continue;
            }
            const auto [entry, is_new] = number_of.try_emplace(target, static_cast<uint32_t>(states.size()));
            if (is_new) {
                states.push_back(target);
                alternatives += expressions_->node(target).children.size() * raw.class_count;
            }
            raw.targets.push_back(entry->second);
        }
        expressions_->charge_steps(steps_of_target * raw.class_count);
        if (expressions_->is_building() && expressions_->is_out_of_steps())
            return expressions_->check().error();
        if (states.size() > automaton_states_max || alternatives > alternatives_max ||
            expressions_->is_full()) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("a pattern needs more than {} states, or is too ambiguous", automaton_states_max),
                "shorten its bounds"};
        }
    }
    expressions_->charge_steps(steps_of_minimised_target * raw.targets.size());
    return minimised(raw);
}

Result<Automaton> Derivatives::both(const Automaton& a, const Automaton& b) {
    ETNA_CHECK(expressions_->check());
    std::size_t targets = 0;
    auto made = intersection(a, b, &targets);
    expressions_->charge_steps((steps_of_target / 2 + steps_of_minimised_target) * targets);
    return made;
}

Result<Automaton> Derivatives::all_but(const Automaton& excluded) {
    ETNA_CHECK(expressions_->check());
    expressions_->charge_steps(steps_of_minimised_target * excluded.targets.size());
    return complement(excluded);
}

} // namespace etna::grammar
