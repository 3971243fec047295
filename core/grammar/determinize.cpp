#include "core/grammar/language.hpp"

#include <unordered_set>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Maximum number of alternatives over all states and byte classes: nested counts have many.
constexpr std::size_t ways_max = 4'000'000;

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

/// Every set of bytes in the expression; its derivatives contain no others.
std::vector<ByteSet> Language::byte_sets(Expression regular) const {
    std::vector<ByteSet> sets;
    std::unordered_set<Expression> seen = {regular};
    std::vector<Expression> open = {regular};
    while (!open.empty()) {
        const Node& node = nodes_[open.back()];
        open.pop_back();
        if (node.kind == Kind::bytes)
            sets.push_back(node.set);
        const bool is_counted = node.kind == Kind::counted;
        if (is_counted || node.kind == Kind::automaton || node.kind == Kind::within) {
            const Automaton& automaton = automata_[is_counted ? counts_[node.index].automaton : node.index];
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

Result<Automaton> Language::automaton(Expression regular) {
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
    std::size_t ways = 0;
    for (std::size_t at = 0; at < states.size(); ++at) {
        raw.accepts.push_back(is_nullable(states[at]));
        for (const uint8_t byte : byte_of) {
            const Expression target = next(states[at], byte);
            if (target == nothing) {
                raw.targets.push_back(Automaton::dead);
                continue;
            }
            const auto [place, is_new] = number_of.try_emplace(target, static_cast<uint32_t>(states.size()));
            if (is_new) {
                states.push_back(target);
                ways += nodes_[target].children.size() * raw.class_count;
            }
            raw.targets.push_back(place->second);
        }
        take_steps(steps_of_target * raw.class_count);
        if (is_building_ && is_tired())
            return check().error();
        if (states.size() > automaton_states_max || ways > ways_max || is_full_) {
            return Error{
                ErrorKind::unsupported,
                fmt::format("a pattern needs more than {} states, or is too ambiguous", automaton_states_max),
                "shorten its bounds"};
        }
    }
    take_steps(steps_of_minimised_target * raw.targets.size());
    return minimised(raw);
}

Result<Automaton> Language::both(const Automaton& a, const Automaton& b) {
    ETNA_CHECK(check());
    std::size_t targets = 0;
    auto made = intersection(a, b, &targets);
    take_steps((steps_of_target / 2 + steps_of_minimised_target) * targets);
    return made;
}

Result<Automaton> Language::all_but(const Automaton& excluded) {
    ETNA_CHECK(check());
    take_steps(steps_of_minimised_target * excluded.targets.size());
    return complement(excluded);
}

} // namespace etna::grammar
