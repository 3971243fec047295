#pragma once

#include "core/text/tokenize_budget.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace etna::text {

/// A piece of text that merging turns into a token. Symbols form a linked list by index.
struct Symbol {
    static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

    uint32_t id = none;  ///< the algorithm's id for this piece
    uint32_t begin = 0;  ///< offset in the text, bytes
    uint32_t length = 0; ///< bytes; 0 once merged into its left neighbour
    uint32_t previous = none;
    uint32_t next = none;
};

/// The result of merging two neighbours. The lowest `order` is merged first, ties leftmost first.
struct Merge {
    float order = 0;
    uint32_t id = 0;
};

/// A possible merge, as found; stale if either symbol has changed since.
struct MergeCandidate {
    Merge merge;
    uint32_t left = 0; ///< index of the left symbol
    uint32_t length = 0;
};

/// Upper bound on the memory of merge_symbols() for this many symbols, their own included. The heap may grow
/// to twice as many entries, and the old buffer coexists with the new one while it grows.
constexpr std::size_t merging_bytes(std::size_t symbols) {
    return symbols * (sizeof(Symbol) + 3 * sizeof(MergeCandidate));
}

/// Links symbols[0], symbols[1], ... in order.
inline void link_symbols(std::vector<Symbol>& symbols) {
    for (uint32_t i = 0; i < symbols.size(); ++i) {
        symbols[i].previous = i == 0 ? Symbol::none : i - 1;
        symbols[i].next = i + 1 == symbols.size() ? Symbol::none : i + 1;
    }
}

/// Merges linked symbols until no two neighbours can be: O(n log n) with a heap over the possible merges.
/// `find(left, right)` returns optional<Merge> for two neighbouring symbols. `heap` is scratch space. The
/// result is the list from symbols[0] along `next`. Returns false if `budget` was over first.
template <class Find>
bool merge_symbols(std::vector<Symbol>& symbols, std::vector<MergeCandidate>& heap, TokenizeBudget& budget,
                   Find find) {
    const auto later = [](const MergeCandidate& a, const MergeCandidate& b) {
        return a.merge.order > b.merge.order || (a.merge.order == b.merge.order && a.left > b.left);
    };
    const auto candidate = [&](uint32_t left) -> std::optional<MergeCandidate> {
        const uint32_t right = left == Symbol::none ? Symbol::none : symbols[left].next;
        if (right == Symbol::none)
            return std::nullopt;
        const auto merge = find(symbols[left], symbols[right]);
        if (!merge)
            return std::nullopt;
        return MergeCandidate{*merge, left, symbols[left].length + symbols[right].length};
    };
    const auto push = [&](uint32_t left) {
        if (const auto found = candidate(left)) {
            heap.push_back(*found);
            std::push_heap(heap.begin(), heap.end(), later);
        }
    };

    heap.clear();
    heap.reserve(symbols.size());
    for (uint32_t i = 0; i + 1 < symbols.size(); ++i) {
        if (budget.is_over())
            return false;
        if (const auto found = candidate(i))
            heap.push_back(*found);
    }
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
        if (budget.is_over())
            return false;
        std::pop_heap(heap.begin(), heap.end(), later);
        const MergeCandidate best = heap.back();
        heap.pop_back();
        Symbol& left = symbols[best.left];
        // Symbols only grow, so an equal total length means that both are unchanged.
        if (left.length == 0 || left.next == Symbol::none ||
            left.length + symbols[left.next].length != best.length)
            continue;
        Symbol& right = symbols[left.next];
        left.id = best.merge.id;
        left.length += right.length;
        right.length = 0;
        left.next = right.next;
        if (left.next != Symbol::none)
            symbols[left.next].previous = best.left;
        push(left.previous);
        push(best.left);
    }
    return true;
}

} // namespace etna::text
