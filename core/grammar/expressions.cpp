#include "core/grammar/expressions.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

std::size_t hash_of(const Node& node) {
    std::size_t hash = static_cast<std::size_t>(node.kind);
    const auto mix = [&hash](uint64_t value) { // Knuth's multiplier, TAOCP volume 3, 6.4
        hash = (hash ^ value) * 0x9E3779B97F4A7C15;
        hash ^= hash >> 32;
    };
    for (const uint64_t word : node.set.words)
        mix(word);
    for (const Expression child : node.children)
        mix(child);
    mix((uint64_t{node.min} << 32) | node.max);
    mix((uint64_t{node.index} << 32) | node.state);
    return hash;
}

/// Costs of building an expression, including the work on its parts until it is sealed.
constexpr uint64_t steps_of_look_up = 10; ///< look-up of an existing expression
constexpr std::size_t probes_of_step = 8; ///< probes of adjacent slots
constexpr uint64_t steps_of_node = 100;
constexpr uint64_t steps_of_part = 10;
/// The same in next(); either() charges for the parts.
constexpr uint64_t steps_of_derived_look_up = 2;
constexpr uint64_t steps_of_derived_node = 70; ///< touches fresh memory

/// In linear time if all but the last few are sorted: alternatives are added to those of a smaller
/// expression.
void sort_and_unique(std::vector<Expression>& all) {
    const auto unsorted = std::is_sorted_until(all.begin(), all.end());
    std::sort(unsorted, all.end());
    std::inplace_merge(all.begin(), unsorted, all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
}

} // namespace

Expressions::Expressions(std::size_t bytes_max) : bytes_max_(bytes_max) {
    add({.kind = Kind::no_string});
    add({.kind = Kind::empty_string});
}

Status Expressions::check() const {
    if (is_stopped())
        return Error{ErrorKind::cancelled, "the grammar was cancelled"};
    if (is_full_) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the grammar needs more than {} MiB", bytes_max_ >> 20),
                     "make it or its bounds smaller"};
    }
    if (is_out_of_steps()) {
        return Error{ErrorKind::unsupported, "the grammar is too large to be compiled",
                     "make it or its bounds smaller, or make it less ambiguous"};
    }
    return {};
}

void Expressions::set_step_budget(uint64_t steps, bool is_building, const Stop* stop) {
    is_building_ = is_building;
    budget_.set(steps, stop);
}

bool Expressions::check_bytes() {
    is_full_ = is_full_ || bytes_ > bytes_max_;
    return bytes_ <= bytes_max_;
}

Expression Expressions::add(Node node) {
    return find_or_add(std::move(node), [this](const Node& one) { return nullable_of(one); });
}

Expression Expressions::add(Node node, Nullable nullable) {
    return find_or_add(std::move(node), [nullable](const Node&) { return nullable; });
}

template <typename NullableOf>
Expression Expressions::find_or_add(Node node, const NullableOf& nullable_of) {
    charge_steps(is_building_ ? steps_of_look_up : steps_of_derived_look_up);
    const std::size_t hash = hash_of(node);
    std::size_t probes = 0;
    HashIndex& numbers = by_hash_[hash / (SIZE_MAX / by_hash_.size() + 1)];
    const auto same = numbers.find(hash, [&](Expression number) { return nodes_[number] == node; }, probes);
    charge_steps(probes / probes_of_step);
    if (same)
        return *same;
    if (is_out_of_steps()) // no expressions can be added
        return nothing;
    charge_steps(is_building_ ? steps_of_node + steps_of_part * node.children.size() : steps_of_derived_node);
    // Plus its cached derivatives, its slot in by_hash_, and the allocator's overhead for its children.
    constexpr std::size_t bytes_of_one = sizeof(Node) + sizeof(Transitions) + 64;
    const std::size_t bytes = bytes_of_one + node.children.size() * sizeof(Expression);
    if ((is_full_ || bytes_ + bytes > bytes_max_) && nodes_.size() > empty) {
        is_full_ = true;
        return nothing;
    }
    bytes_ += bytes;
    const auto number = static_cast<Expression>(nodes_.size());
    nullable_.push_back(nullable_of(node));
    nodes_.push_back(std::move(node));
    transitions_.emplace_back();
    numbers.add(hash, number);
    return number;
}

Expression Expressions::bytes(const ByteSet& set) {
    return set.is_empty() ? nothing : add({.kind = Kind::bytes, .set = set});
}

Expression Expressions::literal(std::string_view text) {
    Expression result = empty;
    for (auto byte = text.rbegin(); byte != text.rend(); ++byte)
        result = sequence(bytes(ByteSet::one(static_cast<uint8_t>(*byte))), result);
    return result;
}

/// Builds a prefix tree and merges equal branches, in one pass over the sorted texts. Source: Daciuk, Mihov,
/// Watson, Watson, Incremental construction of minimal acyclic finite-state automata (2000).
Expression Expressions::any_of(std::vector<std::string> texts) {
    struct Branches {
        bool may_end = false;
        std::vector<std::pair<Expression, ByteSet>> alternatives =
            {}; ///< the rest after a byte, and the byte
    };
    const auto closed = [this](const Branches& branches) {
        std::vector<Expression> all;
        all.reserve(branches.alternatives.size() + 1);
        for (const auto& [rest, set] : branches.alternatives)
            all.push_back(sequence(bytes(set), rest));
        if (branches.may_end)
            all.push_back(empty);
        return either(all);
    };
    std::sort(texts.begin(), texts.end());
    std::vector<Branches> path(1); // of the last text, by prefix length
    std::string_view last;
    const auto close_to = [&](std::size_t length) {
        while (path.size() > length + 1) {
            const Expression rest = closed(path.back());
            path.pop_back();
            auto& alternatives = path.back().alternatives;
            const auto same =
                std::find_if(alternatives.begin(), alternatives.end(),
                             [&](const auto& alternative) { return alternative.first == rest; });
            const ByteSet byte = ByteSet::one(static_cast<uint8_t>(last[path.size() - 1]));
            if (same == alternatives.end()) {
                alternatives.emplace_back(rest, byte);
            } else {
                same->second |= byte;
            }
        }
    };
    for (const std::string& text : texts) {
        if (is_full_)
            return nothing;
        const auto differs = std::mismatch(last.begin(), last.end(), text.begin(), text.end()).first;
        close_to(static_cast<std::size_t>(differs - last.begin()));
        path.resize(text.size() + 1);
        path.back().may_end = true;
        last = text;
    }
    close_to(0);
    return closed(path.front());
}

Expression Expressions::sequence(Expression first, Expression second) {
    if (first == nothing || second == nothing)
        return nothing;
    if (first == empty)
        return second;
    if (second == empty)
        return first;
    // (a b) c is stored as a (b c), however long a b is.
    std::vector<Expression> heads;
    while (nodes_[first].kind == Kind::sequence) {
        heads.push_back(nodes_[first].children[0]);
        first = nodes_[first].children[1];
    }
    Expression result = add({.kind = Kind::sequence, .children = {first, second}});
    for (auto head = heads.rbegin(); head != heads.rend() && result != nothing; ++head)
        result = add({.kind = Kind::sequence, .children = {*head, result}});
    return result;
}

Expression Expressions::sequence(std::span<const Expression> parts) {
    Expression result = empty;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        result = sequence(*part, result);
    return result;
}

Expression Expressions::either(Expression a, Expression b) {
    const std::array both = {a, b};
    return either(both);
}

Expression Expressions::either(std::span<const Expression> alternatives) {
    if (alternatives.size() == 1)
        return alternatives.front();
    charge_steps(1 + alternatives.size());
    if (is_out_of_steps())
        return nothing;
    std::vector<Expression> all;
    ByteSet set;
    const auto take = [&](Expression one) {
        const bool is_bytes = nodes_[one].kind == Kind::bytes;
        if (is_bytes)
            set |= nodes_[one].set;
        return is_bytes;
    };
    for (const Expression one : alternatives) {
        if (nodes_[one].kind == Kind::either) { // its children are in order, and only the last may be bytes
            const std::vector<Expression>& inner = nodes_[one].children;
            charge_steps(inner.size());
            all.insert(all.end(), inner.begin(), inner.end() - (take(inner.back()) ? 1 : 0));
        } else if (!take(one) && one != nothing) {
            all.push_back(one);
        }
    }
    sort_and_unique(all);
    if (!set.is_empty())
        all.push_back(bytes(set));
    if (all.size() > 1 && all.front() == empty && // redundant if another alternative is nullable
        std::any_of(all.begin() + 1, all.end(), [&](Expression e) { return nullable_[e] == Nullable::yes; }))
        all.erase(all.begin());
    if (all.empty())
        return nothing;
    if (all.size() == 1)
        return all.front();
    return add({.kind = Kind::either, .children = std::move(all)});
}

Expression Expressions::repeat(Expression item, uint32_t min, uint32_t max) {
    assert(min <= max);
    if (max == 0 || item == empty)
        return empty;
    if (item == nothing)
        return min == 0 ? empty : nothing;
    if (nullable_[item] == Nullable::yes)
        min = 0; // any number of items may be empty
    if (min == 1 && max == 1)
        return item;
    if (min == 0 && max == 1)
        return optional(item);
    return add({.kind = Kind::repeat, .children = {item}, .min = min, .max = max});
}

Expression Expressions::unit(Expression content) {
    switch (nodes_[content].kind) {
    case Kind::no_string:
    case Kind::empty_string:
    case Kind::bytes:
    case Kind::unit:
    case Kind::automaton:
        return content;
    default:
        return add({.kind = Kind::unit, .children = {content}});
    }
}

Expression Expressions::accepted(const Automaton& automaton) {
    if (automaton.state_count() == 0)
        return nothing;
    return add({.kind = Kind::automaton, .index = number_of(automaton), .state = 0});
}

uint32_t Expressions::number_of(const Automaton& automaton) {
    const auto same = std::find(automata_.begin(), automata_.end(), automaton);
    const auto number = static_cast<uint32_t>(same - automata_.begin());
    if (same == automata_.end()) { // add() checks the memory limit
        bytes_ +=
            sizeof(Automaton) + automaton.targets.size() * sizeof(uint32_t) + automaton.accepts.size() / 8;
        automata_.push_back(automaton);
    }
    return number;
}

Expression Expressions::rule(std::string name) {
    rules_.push_back({.name = std::move(name)});
    return add({.kind = Kind::rule, .index = static_cast<uint32_t>(rules_.size() - 1)});
}

void Expressions::define(Expression rule, Expression definition) {
    if (nodes_[rule].kind != Kind::rule) // the language is full
        return;
    assert(!rules_[nodes_[rule].index].definition);
    rules_[nodes_[rule].index].definition = definition;
}

Nullable Expressions::nullable_of(const Node& node) const {
    const auto any = [&](Nullable expected) {
        return std::any_of(node.children.begin(), node.children.end(),
                           [&](Expression child) { return nullable_[child] == expected; });
    };
    switch (node.kind) {
    case Kind::no_string:
    case Kind::bytes:
        return Nullable::no;
    case Kind::empty_string:
        return Nullable::yes;
    case Kind::sequence:
        if (any(Nullable::no))
            return Nullable::no;
        return any(Nullable::unknown) ? Nullable::unknown : Nullable::yes;
    case Kind::either:
        if (any(Nullable::yes))
            return Nullable::yes;
        return any(Nullable::unknown) ? Nullable::unknown : Nullable::no;
    case Kind::repeat:
        return node.min == 0 ? Nullable::yes : nullable_[node.children[0]];
    case Kind::unit:
        return nullable_[node.children[0]];
    case Kind::automaton:
        return automata_[node.index].accepts[node.state] ? Nullable::yes : Nullable::no;
    case Kind::within:
        return automata_[node.index].accepts[node.state] ? nullable_[node.children[0]] : Nullable::no;
    case Kind::rule:
        if (const auto& definition = rules_[node.index].definition)
            return nullable_[*definition];
        return Nullable::unknown;
    case Kind::counted:
    case Kind::distinct:
        assert(false); // see add()
        break;
    }
    return Nullable::no;
}

bool Expressions::is_nullable(Expression expression) const {
    assert(nullable_[expression] != Nullable::unknown);
    return nullable_[expression] == Nullable::yes;
}

} // namespace etna::grammar
