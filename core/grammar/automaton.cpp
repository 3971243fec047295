#include "core/grammar/automaton.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Whether each state can reach an accepting one.
std::vector<bool> live_states(const Automaton& a) {
    std::vector<std::vector<uint32_t>> sources(a.state_count());
    for (uint32_t state = 0; state < a.state_count(); ++state) {
        for (uint32_t c = 0; c < a.class_count; ++c) {
            if (const uint32_t target = a.targets[state * a.class_count + c]; target != Automaton::dead)
                sources[target].push_back(state);
        }
    }
    std::vector<bool> live = a.accepts;
    std::vector<uint32_t> open;
    for (uint32_t state = 0; state < a.state_count(); ++state) {
        if (live[state])
            open.push_back(state);
    }
    while (!open.empty()) {
        const uint32_t state = open.back();
        open.pop_back();
        for (const uint32_t source : sources[state]) {
            if (!live[source]) {
                live[source] = true;
                open.push_back(source);
            }
        }
    }
    return live;
}

/// A partition of the states into blocks, which marked states split in two.
class Blocks {
public:
    explicit Blocks(std::size_t states) : states_(states), position_(states), block_of_(states) {
        std::iota(states_.begin(), states_.end(), 0U);
        position_ = states_;
        blocks_.push_back({.begin = 0, .end = static_cast<uint32_t>(states)});
    }

    [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(blocks_.size()); }
    [[nodiscard]] uint32_t of(uint32_t state) const { return block_of_[state]; }
    [[nodiscard]] uint32_t size(uint32_t block) const { return blocks_[block].end - blocks_[block].begin; }
    [[nodiscard]] std::vector<uint32_t> states(uint32_t block) const {
        return {states_.begin() + blocks_[block].begin, states_.begin() + blocks_[block].end};
    }

    /// Moves a state to the front of its block.
    void mark(uint32_t state) {
        Block& block = blocks_[block_of_[state]];
        const uint32_t target = block.begin + block.marked;
        if (position_[state] < target)
            return;
        if (block.marked++ == 0)
            touched_.push_back(block_of_[state]);
        const uint32_t other = states_[target];
        std::swap(states_[target], states_[position_[state]]);
        position_[other] = position_[state];
        position_[state] = target;
    }

    /// Splits off the marked states of each block, unless all are marked; reports both parts.
    template <class Report>
    void cut(const Report& report) {
        for (const uint32_t old : touched_) {
            Block& block = blocks_[old];
            const uint32_t middle = block.begin + block.marked;
            block.marked = 0;
            if (middle == block.end)
                continue;
            const Block marked = {.begin = block.begin, .end = middle};
            block.begin = middle;
            const auto number = count();
            blocks_.push_back(marked);
            for (uint32_t at = marked.begin; at < marked.end; ++at)
                block_of_[states_[at]] = number;
            report(old, number);
        }
        touched_.clear();
    }

private:
    struct Block {
        uint32_t begin = 0;
        uint32_t end = 0;
        uint32_t marked = 0;
    };

    std::vector<uint32_t> states_;   ///< grouped by block
    std::vector<uint32_t> position_; ///< position of each state in states_
    std::vector<uint32_t> block_of_;
    std::vector<Block> blocks_;
    std::vector<uint32_t> touched_; ///< blocks with marked states
};

/// Predecessor states by byte class and live target.
class Sources {
public:
    Sources(const Automaton& a, const std::vector<bool>& live)
        : classes_(a.class_count), begin_(a.targets.size() + 1) {
        const auto is_live = [&](uint32_t target) { return target != Automaton::dead && live[target]; };
        for (std::size_t i = 0; i < a.targets.size(); ++i) {
            if (is_live(a.targets[i]))
                ++begin_[index_of(a.targets[i], i % classes_) + 1];
        }
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        sources_.resize(begin_.back());
        std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
        for (std::size_t i = 0; i < a.targets.size(); ++i) {
            if (is_live(a.targets[i]))
                sources_[at[index_of(a.targets[i], i % classes_)]++] = static_cast<uint32_t>(i / classes_);
        }
    }

    [[nodiscard]] std::span<const uint32_t> of(uint32_t target, std::size_t byte_class) const {
        const std::size_t at = index_of(target, byte_class);
        return std::span(sources_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
    }

private:
    [[nodiscard]] std::size_t index_of(uint32_t target, std::size_t byte_class) const {
        return target * classes_ + byte_class;
    }

    std::size_t classes_;
    std::vector<uint32_t> begin_; ///< into sources_
    std::vector<uint32_t> sources_;
};

/// The block number of each state, equal for states that accept the same strings; dead states have none.
/// Sources: Hopcroft, An n log n algorithm for minimizing states in a finite automaton (1971); Valmari,
/// Lehtinen, Efficient minimization of DFAs with partial transition functions (2008), for dead states.
std::vector<uint32_t> blocks_of(const Automaton& a, const std::vector<bool>& live) {
    const Sources sources(a, live);
    Blocks blocks(a.state_count());
    std::vector<uint32_t> open = {0}; // blocks to split others by
    std::vector<bool> is_open = {true};
    const auto report = [&](uint32_t old, uint32_t made) {
        const bool both = is_open[old];
        is_open.resize(made + 1);
        const uint32_t next = both || blocks.size(made) <= blocks.size(old) ? made : old;
        is_open[next] = true;
        open.push_back(next);
    };
    for (const bool is_liveness : {false, true}) {
        for (uint32_t state = 0; state < a.state_count(); ++state) {
            if (is_liveness ? live[state] : static_cast<bool>(a.accepts[state]))
                blocks.mark(state);
        }
        blocks.cut(report);
    }
    while (!open.empty()) {
        const uint32_t block = open.back();
        open.pop_back();
        is_open[block] = false;
        const std::vector<uint32_t> targets = blocks.states(block);
        for (std::size_t c = 0; c < a.class_count; ++c) {
            for (const uint32_t target : targets) {
                for (const uint32_t source : sources.of(target, c))
                    blocks.mark(source);
            }
            blocks.cut(report);
        }
    }
    std::vector<uint32_t> result(a.state_count(), Automaton::dead);
    for (uint32_t state = 0; state < a.state_count(); ++state) {
        if (live[state])
            result[state] = blocks.of(state);
    }
    return result;
}

/// Merges classes with equal columns, numbered by their first byte.
void join_classes(Automaton& a) {
    std::map<std::vector<uint32_t>, uint8_t> known;
    std::vector<uint8_t> joined(a.class_count);
    std::vector<uint32_t> representatives;
    std::array<uint8_t, 256> class_of = {};
    std::vector<bool> is_seen(a.class_count);
    for (std::size_t byte = 0; byte < class_of.size(); ++byte) {
        const uint8_t old = a.class_of[byte];
        if (!is_seen[old]) {
            is_seen[old] = true;
            std::vector<uint32_t> column(a.state_count());
            for (uint32_t state = 0; state < a.state_count(); ++state)
                column[state] = a.targets[state * a.class_count + old];
            const auto [entry, is_new] =
                known.try_emplace(std::move(column), static_cast<uint8_t>(known.size()));
            if (is_new)
                representatives.push_back(old);
            joined[old] = entry->second;
        }
        class_of[byte] = joined[old];
    }
    std::vector<uint32_t> targets;
    targets.reserve(a.state_count() * representatives.size());
    for (uint32_t state = 0; state < a.state_count(); ++state) {
        for (const uint32_t c : representatives)
            targets.push_back(a.targets[state * a.class_count + c]);
    }
    a.class_of = class_of;
    a.class_count = static_cast<uint32_t>(representatives.size());
    a.targets = std::move(targets);
}

/// Numbers states in breadth-first order from the first, so that equal sets give equal automata.
Automaton in_order(const Automaton& a, const std::vector<uint32_t>& block) {
    Automaton result;
    result.class_of = a.class_of;
    result.class_count = a.class_count;
    if (a.state_count() == 0 || block[0] == Automaton::dead)
        return result;
    std::unordered_map<uint32_t, uint32_t> number_of = {{block[0], 0}};
    std::vector<uint32_t> first_of = {0}; // an old state for each new one
    for (std::size_t at = 0; at < first_of.size(); ++at) {
        const uint32_t state = first_of[at];
        result.accepts.push_back(a.accepts[state]);
        for (uint32_t c = 0; c < a.class_count; ++c) {
            const uint32_t target = a.targets[state * a.class_count + c];
            if (target == Automaton::dead || block[target] == Automaton::dead) {
                result.targets.push_back(Automaton::dead);
                continue;
            }
            const auto [entry, is_new] =
                number_of.try_emplace(block[target], static_cast<uint32_t>(number_of.size()));
            if (is_new)
                first_of.push_back(target);
            result.targets.push_back(entry->second);
        }
    }
    return result;
}

/// The automaton that searches for `mark`: a state is the length of the prefix that the input ends with. No
/// state accepts yet, and the last one has no targets. Source: Knuth, Morris, Pratt, Fast pattern matching in
/// strings (1977).
Automaton searching(std::string_view mark) {
    const auto size = static_cast<uint32_t>(mark.size());
    Automaton raw;
    for (int byte = 0; byte < 256; ++byte)
        raw.class_of[byte] = static_cast<uint8_t>(byte);
    raw.class_count = 256;
    raw.targets.assign(std::size_t{size + 1} * raw.class_count, Automaton::dead);
    raw.accepts.assign(size + 1, false);
    uint32_t fallback = 0; // state of the longest proper prefix of the mark that the input ends with
    for (uint32_t state = 0; state < size; ++state) {
        uint32_t* const row = &raw.targets[state * raw.class_count];
        for (uint32_t byte = 0; byte < control_byte; ++byte)
            row[byte] = state == 0 ? 0 : raw.targets[fallback * raw.class_count + byte];
        const auto expected = static_cast<uint8_t>(mark[state]);
        if (state > 0)
            fallback = raw.targets[fallback * raw.class_count + expected];
        row[expected] = state + 1;
    }
    return raw;
}

} // namespace

Automaton minimised(const Automaton& raw) {
    Automaton sorted = raw;
    join_classes(sorted); // first, because in_order() visits targets by class
    Automaton result = in_order(sorted, blocks_of(sorted, live_states(sorted)));
    join_classes(result);
    return result;
}

Result<Automaton> product(const Automaton& a, const Automaton& b,
                          std::vector<std::pair<uint32_t, uint32_t>>& states) {
    Automaton made;
    std::map<std::pair<uint8_t, uint8_t>, uint8_t> classes;
    std::vector<std::pair<uint8_t, uint8_t>> pairs;
    for (std::size_t byte = 0; byte < made.class_of.size(); ++byte) {
        const std::pair pair{a.class_of[byte], b.class_of[byte]};
        const auto [entry, is_new] = classes.try_emplace(pair, static_cast<uint8_t>(classes.size()));
        if (is_new)
            pairs.push_back(pair);
        made.class_of[byte] = entry->second;
    }
    made.class_count = static_cast<uint32_t>(pairs.size());
    states.clear();
    if (a.state_count() == 0 || b.state_count() == 0)
        return made;
    std::unordered_map<uint64_t, uint32_t> number_of = {{0, 0}};
    states.emplace_back(0, 0);
    for (std::size_t at = 0; at < states.size(); ++at) {
        const auto [left, right] = states[at];
        made.accepts.push_back(a.accepts[left] && b.accepts[right]);
        for (const auto& [left_class, right_class] : pairs) {
            const uint32_t to_left = a.targets[left * a.class_count + left_class];
            const uint32_t to_right = b.targets[right * b.class_count + right_class];
            if (to_left == Automaton::dead || to_right == Automaton::dead) {
                made.targets.push_back(Automaton::dead);
                continue;
            }
            const auto [entry, is_new] = number_of.try_emplace((uint64_t{to_left} << 32) | to_right,
                                                               static_cast<uint32_t>(states.size()));
            if (is_new)
                states.emplace_back(to_left, to_right);
            made.targets.push_back(entry->second);
        }
        if (states.size() > automaton_states_max) {
            return Error{ErrorKind::unsupported,
                         fmt::format("two patterns together need more than {} states", automaton_states_max),
                         "shorten their bounds, or remove one of them"};
        }
    }
    return made;
}

Result<Automaton> intersection(const Automaton& a, const Automaton& b, std::size_t* targets) {
    std::vector<std::pair<uint32_t, uint32_t>> states;
    auto made = product(a, b, states);
    if (targets != nullptr)
        *targets += states.size() * std::max(a.class_count, b.class_count);
    ETNA_TRY(const Automaton all, std::move(made));
    return minimised(all);
}

Result<Automaton> complement(const Automaton& a) {
    Automaton all = a;
    const uint32_t sink = a.state_count();
    if (sink >= automaton_states_max)
        return Error{ErrorKind::unsupported, "a pattern is too large to be excluded", "shorten its bounds"};
    all.targets.resize(std::size_t{sink + 1} * all.class_count, Automaton::dead);
    for (uint32_t& target : all.targets) {
        if (target == Automaton::dead)
            target = sink;
    }
    all.accepts.push_back(false);
    all.accepts.flip();
    return minimised(all);
}

Automaton until(std::string_view mark) {
    Automaton raw = searching(mark);
    raw.accepts.back() = true;
    return minimised(raw);
}

Result<Automaton> without(std::span<const std::string> marks) {
    Automaton all = searching({}); // any bytes
    all.accepts.flip();
    all.targets.assign(all.class_count, 0);
    all.targets[control_byte] = Automaton::dead;
    all = minimised(all);
    for (const std::string& mark : marks) {
        Automaton raw = searching(mark);
        raw.accepts.flip();
        raw.accepts.back() = false;
        ETNA_TRY(all, intersection(all, minimised(raw)));
    }
    return all;
}

} // namespace etna::grammar
