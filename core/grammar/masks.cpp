#include "core/grammar/masks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::grammar {
namespace {

/// Maximum depth at which counts in a head are shortened; deeper ones remain unchanged.
constexpr int shortened_depth_max = 100;

/// Maximum cached heads, each with a mask; at the limit the cache is cleared.
constexpr std::size_t heads_max = 1024;

/// Maximum cached masks, and the steps from which a mask is cached; at the limit the cache is cleared.
constexpr std::size_t cached_masks_max = 64;
constexpr uint64_t steps_of_cached_mask = 10'000;

/// Beyond this number, alternatives are walked as one: each takes a walk from the root of the tree.
constexpr std::size_t separate_walks_max = 8;

/// Work per step, or steps per operation: see Language::set_step_budget().
constexpr std::size_t tokens_of_step = 8;
constexpr std::size_t words_of_step = 32;
constexpr std::size_t steps_of_alternative = 10; ///< look-up of its expression

} // namespace

TokenMask& TokenMask::operator|=(const TokenMask& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
        words_[i] |= other.words_[i];
    return *this;
}

bool TokenMask::is_empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint32_t word) { return word == 0; });
}

Masks::Masks(Language& language, const Vocabulary& vocabulary)
    : language_(&language), vocabulary_(&vocabulary),
      path_(std::max(vocabulary.short_tokens().depth_max(), vocabulary.long_tokens().depth_max()) + 1) {}

TokenMask Masks::mask(Expression state) {
    if (const auto known = cached_.find(state); known != cached_.end()) {
        language_->charge_steps(known->second.words().size() / words_of_step + 1);
        return known->second;
    }
    const uint64_t steps_before = language_->steps_left();
    TokenMask mask = mask_of(state);
    if (steps_before - language_->steps_left() > steps_of_cached_mask)
        cache(state, mask);
    return mask;
}

TokenMask Masks::mask_of(Expression state) {
    TokenMask mask(vocabulary_->size());
    seen_.clear();
    alternatives_.clear();
    plain_alternatives_.clear();
    distinct_alternatives_.clear();
    add(state, mask);
    walk_alternatives(mask);
    const std::vector<Expression> distinct_alternatives = std::move(distinct_alternatives_);
    walk(distinct_alternatives.empty() ? state : language_->either(plain_alternatives_),
         vocabulary_->long_tokens(), mask);
    for (const Expression alternative : distinct_alternatives)
        mask |= distinct_mask(alternative);
    return mask;
}

/// The mask of an alternative that begins within a Kind::distinct.
TokenMask Masks::distinct_mask(Expression alternative) {
    const Node node = language_->node(alternative);
    const bool is_sequence = node.kind == Kind::sequence;
    const Expression distinct = is_sequence ? node.children[0] : alternative;
    const Expression rest = is_sequence ? node.children[1] : empty;
    TokenMask mask = mask_of(language_->sequence(language_->allowing_repeats(distinct), rest));
    if (language_->has_few_items(distinct)) {
        check(alternative, vocabulary_->short_tokens().tokens(0, vocabulary_->short_tokens().size()), mask);
        check(alternative, vocabulary_->long_tokens().tokens(0, vocabulary_->long_tokens().size()), mask);
        return mask;
    }
    forbid_repeats(alternative, distinct, vocabulary_->short_tokens(), mask);
    forbid_repeats(alternative, distinct, vocabulary_->long_tokens(), mask);
    for (const TokenId token : vocabulary_->tokens_after_comma()) {
        language_->charge_steps(1);
        if (mask.allows(token) && language_->may_have_next_item(distinct, vocabulary_->bytes(token)))
            check(alternative, {&token, 1}, mask);
    }
    return mask;
}

/// Checks the tokens that are a prefix of the rest of a used item, or that begin with it.
void Masks::forbid_repeats(Expression alternative, Expression distinct, const TokenTree& tree,
                           TokenMask& mask) {
    for (const std::string& used : language_->used_items(distinct)) {
        uint32_t node = 0;
        uint32_t end = tree.size();
        std::size_t depth = 0;
        for (; depth < used.size(); ++depth) {
            while (node < end && tree.byte(node) != static_cast<uint8_t>(used[depth])) {
                language_->charge_steps(1);
                node = tree.end(node);
            }
            if (node >= end)
                break;
            check(alternative, tree.tokens(node), mask);
            end = tree.end(node);
            ++node;
        }
        if (depth == used.size())
            check(alternative, tree.tokens(node, end), mask);
    }
}

/// Forbids the tokens that do not fit.
void Masks::check(Expression alternative, std::span<const TokenId> tokens, TokenMask& mask) {
    language_->charge_steps(tokens.size() / tokens_of_step);
    for (const TokenId token : tokens) {
        if (mask.allows(token) && language_->next(alternative, vocabulary_->bytes(token)) == nothing)
            mask.forbid(token);
    }
}

void Masks::cache(Expression state, const TokenMask& mask) {
    if (language_->is_spent())
        return;
    if (cached_.size() >= cached_masks_max)
        cached_.clear();
    cached_.emplace(state, mask);
}

/// Walks the alternatives that have no head to be walked separately.
void Masks::walk_alternatives(TokenMask& mask) {
    const TokenTree& tree = vocabulary_->short_tokens();
    if (alternatives_.size() > separate_walks_max) {
        walk(language_->either(alternatives_), tree, mask);
        return;
    }
    for (const Expression alternative : alternatives_)
        walk(alternative, tree, mask);
}

/// Adds short tokens, one alternative at a time: each is walked by its head, or left to walk_alternatives().
void Masks::add(Expression state, TokenMask& mask) {
    open_ = {state};
    while (!open_.empty() && !language_->is_spent()) {
        const Expression alternative = open_.back();
        open_.pop_back();
        if (seen_.insert(alternative).second)
            add_alternative(alternative, mask);
    }
}

void Masks::add_alternative(Expression state, TokenMask& mask) {
    const Node node = language_->node(state);
    language_->charge_steps(steps_of_alternative + node.children.size());
    const bool is_sequence = node.kind == Kind::sequence;
    const Expression first = is_sequence ? node.children[0] : state;
    const Expression rest = is_sequence ? node.children[1] : empty;
    const Node head_node = language_->node(first);
    switch (head_node.kind) {
    case Kind::either:
        for (const Expression one : head_node.children)
            open_.push_back(language_->sequence(one, rest));
        break;
    case Kind::rule:
        open_.push_back(language_->sequence(language_->definition(first), rest));
        break;
    case Kind::unit:
    case Kind::within:
    case Kind::counted:
    case Kind::automaton: {
        plain_alternatives_.push_back(state);
        const Head& known = head(first);
        mask |= known.inside;
        language_->charge_steps(known.inside.words().size() / words_of_step);
        if (rest != empty)
            add_beyond(known, rest, mask);
        if (language_->is_nullable(first))
            open_.push_back(rest);
        break;
    }
    case Kind::distinct:
        distinct_alternatives_.push_back(state);
        break;
    default:
        plain_alternatives_.push_back(state);
        alternatives_.push_back(state);
    }
}

void Masks::add_beyond(const Head& head, Expression rest, TokenMask& mask) {
    const TokenTree& tree = vocabulary_->short_tokens();
    for (std::size_t byte = 0; byte + 1 < head.first_beyond.size(); ++byte) {
        if (head.first_beyond[byte] == head.first_beyond[byte + 1])
            continue;
        if (language_->is_spent())
            return;
        const Expression after = language_->next(rest, static_cast<uint8_t>(byte));
        if (after == nothing)
            continue;
        for (uint32_t i = head.first_beyond[byte]; i < head.first_beyond[byte + 1]; ++i)
            walk_from(head.beyond[i], after, tree, mask);
    }
}

void Masks::walk(Expression state, const TokenTree& tree, TokenMask& mask) {
    for (uint32_t node = 0; node < tree.size() && !language_->is_spent(); node = tree.end(node)) {
        language_->charge_steps(1);
        if (const Expression after = language_->next(state, tree.byte(node)); after != nothing)
            walk_from(node, after, tree, mask);
    }
}

/// Allows the tokens of [first, end) that fit, and calls `reach` for each of their nodes, except those below
/// which all plain text is allowed. `path_` holds the states by depth, including those of the nodes above
/// `first`.
template <class Reach>
void Masks::follow(const TokenTree& tree, uint32_t first, uint32_t end, TokenMask& mask, const Reach& reach) {
    for (uint32_t node = first; node < end && !language_->is_spent();) {
        language_->charge_steps(1);
        const uint32_t depth = tree.depth(node);
        const uint8_t byte = tree.byte(node);
        path_[depth] = language_->next(path_[depth - 1], byte);
        if (path_[depth] == nothing) {
            node = tree.end(node);
            continue;
        }
        if (tree.is_plain(node) && is_free_after(path_[depth], *PlainText{}.next(byte))) {
            allow_all(tree.tokens(node, tree.end(node)), mask);
            node = tree.end(node);
            continue;
        }
        allow_all(tree.tokens(node), mask);
        reach(node);
        ++node;
    }
}

void Masks::walk_from(uint32_t node, Expression state, const TokenTree& tree, TokenMask& mask) {
    path_[tree.depth(node)] = state;
    language_->charge_steps(1);
    allow_all(tree.tokens(node), mask);
    follow(tree, node + 1, tree.end(node), mask, [](uint32_t /*node*/) {});
}

void Masks::allow_all(std::span<const TokenId> tokens, TokenMask& mask) {
    language_->charge_steps(tokens.size() / tokens_of_step);
    for (const TokenId token : tokens)
        mask.allow(token);
}

/// Whether all plain text leads back to the state, and no text ends on the way.
bool Masks::is_free(Expression state) {
    const auto known = free_.find(state);
    if (known != free_.end())
        return known->second;
    const Node node = language_->node(state);
    const bool result = node.kind == Kind::sequence
                            ? !language_->is_nullable(node.children[0]) && is_free(node.children[0])
                            : !language_->is_nullable(state) &&
                                  all_lead(state, {}, [&](Expression target) { return target == state; });
    if (!language_->is_spent())
        free_.emplace(state, result);
    return result;
}

/// Whether every completion of the character leads to a free state.
bool Masks::is_free_after(Expression state, const PlainText& read) {
    if (read.missing == 0)
        return is_free(state);
    const std::array<uint32_t, 2> key = {state, read.missing * 0x10000U + read.min * 0x100U + read.max};
    const auto known = free_after_.find(key);
    if (known != free_after_.end())
        return known->second;
    const bool result = all_lead(state, read, [&](Expression target) { return is_free(target); });
    if (!language_->is_spent())
        free_after_.emplace(key, result);
    return result;
}

/// Whether all plain characters, or all completions of a partial one, lead from a state to states for which
/// `is_right` holds.
template <class IsRight>
bool Masks::all_lead(Expression from, const PlainText& read, const IsRight& is_right) {
    std::unordered_set<Expression> seen; // targets of bytes that require the same of the next byte
    PlainText last_of_seen;
    for (uint32_t byte = 0x20; byte < 0x100; ++byte) {
        if (language_->is_spent())
            return false;
        language_->charge_steps(1);
        const auto after = read.next(static_cast<uint8_t>(byte));
        if (!after)
            continue;
        const Expression target = language_->next(from, static_cast<uint8_t>(byte));
        if (*after != last_of_seen)
            seen.clear();
        last_of_seen = *after;
        if (!seen.insert(target).second)
            continue;
        const bool leads = after->missing == 0 ? is_right(target)
                                               : target != nothing && !language_->is_nullable(target) &&
                                                     all_lead(target, *after, is_right);
        if (!leads)
            return false;
    }
    return true;
}

const Masks::Head& Masks::head(Expression unit) {
    const Expression key = shortened(unit);
    if (const auto known = heads_.find(key); known != heads_.end())
        return known->second;
    Head made = walk_head(key); // may add another head first
    if (language_->is_spent()) {
        unfinished_ = std::move(made);
        return unfinished_;
    }
    if (heads_.size() >= heads_max) {
        heads_.clear();
        heads_bytes_ = 0;
    }
    heads_bytes_ += made.bytes();
    return heads_.emplace(key, std::move(made)).first->second;
}

/// A free state to which plain text leads from the head: the two allow mostly the same tokens. Empty if no
/// state nearby is free.
std::optional<Expression> Masks::free_state_after_head(Expression unit) {
    language_->charge_steps(0x7F - ' ');
    for (uint8_t byte = ' '; byte < 0x7F; ++byte) {
        const Expression target = language_->next(unit, byte);
        if (target == unit)
            return std::nullopt; // the head itself will do
        if (target != nothing && PlainText{}.next(byte) && is_free(target))
            return shortened(target) == target ? std::optional(target) : std::nullopt;
    }
    return std::nullopt;
}

Masks::Head Masks::walk_head(Expression unit) {
    const TokenTree& tree = vocabulary_->short_tokens();
    const auto similar = free_state_after_head(unit);
    Head head = similar ? this->head(*similar) : Head{.inside = TokenMask(vocabulary_->size())};
    std::vector<std::pair<uint32_t, uint32_t>> changed; // nodes for which it differs from the similar head
    path_[0] = unit;
    std::vector<uint32_t> ends; // nodes at which the head may end
    for (uint32_t node = 0; node < tree.size(); node = tree.end(node)) {
        const uint8_t byte = tree.byte(node);
        if (language_->is_spent())
            break;
        language_->charge_steps(1);
        if (similar && language_->next(unit, byte) == language_->next(*similar, byte))
            continue;
        const auto below = tree.tokens(node, tree.end(node));
        language_->charge_steps(below.size() / tokens_of_step);
        for (const TokenId token : below)
            head.inside.forbid(token);
        changed.emplace_back(node, tree.end(node));
        follow(tree, node, tree.end(node), head.inside, [&](uint32_t reached) {
            if (language_->is_nullable(path_[tree.depth(reached)]))
                ends.push_back(reached);
        });
    }
    std::erase_if(head.beyond, [&](uint32_t node) {
        return std::any_of(changed.begin(), changed.end(),
                           [&](const auto& range) { return range.first <= node && node < range.second; });
    });
    collect_beyond(ends, head);
    return head;
}

/// Adds the nodes after the ends that lead outside the head, and sorts all by byte.
void Masks::collect_beyond(const std::vector<uint32_t>& ends, Head& head) const {
    const TokenTree& tree = vocabulary_->short_tokens();
    const auto leads_outside = [&](uint32_t node) {
        const auto tokens = tree.tokens(node, tree.end(node));
        language_->charge_steps(1 + tokens.size() / tokens_of_step);
        return std::any_of(tokens.begin(), tokens.end(),
                           [&](TokenId token) { return !head.inside.allows(token); });
    };
    std::vector<uint32_t> nodes = std::move(head.beyond);
    for (const uint32_t end : ends) {
        for (uint32_t child = end + 1; child < tree.end(end) && !language_->is_spent();
             child = tree.end(child)) {
            if (leads_outside(child))
                nodes.push_back(child);
        }
    }
    head.first_beyond = {};
    for (const uint32_t node : nodes)
        ++head.first_beyond[tree.byte(node) + 1U];
    for (std::size_t byte = 1; byte < head.first_beyond.size(); ++byte)
        head.first_beyond[byte] += head.first_beyond[byte - 1];
    auto next = head.first_beyond;
    head.beyond.resize(nodes.size());
    for (const uint32_t node : nodes)
        head.beyond[next[tree.byte(node)]++] = node;
}

/// An expression that is equivalent for all short tokens, with counts no larger than they can distinguish.
Expression Masks::shortened(Expression expression, int depth) {
    if (depth == shortened_depth_max || language_->is_spent())
        return expression;
    if (const auto known = shortened_.find(expression); known != shortened_.end())
        return known->second;
    const Node node = language_->node(expression);
    language_->charge_steps(steps_of_alternative + node.children.size());
    std::vector<Expression> children;
    children.reserve(node.children.size());
    for (const Expression child : node.children)
        children.push_back(shortened(child, depth + 1));
    Expression result = expression;
    constexpr uint32_t enough = Vocabulary::short_bytes + 1;
    switch (node.kind) {
    case Kind::sequence:
        result = language_->sequence(children);
        break;
    case Kind::either:
        result = language_->either(children);
        break;
    case Kind::unit:
        result = language_->unit(children[0]);
        break;
    case Kind::repeat:
        result = language_->repeat(children[0], std::min(node.min, enough),
                                   node.max > enough ? unbounded : node.max);
        break;
    case Kind::counted:
        result = language_->with_small_counts(expression, enough);
        break;
    default:
        break;
    }
    if (language_->is_spent())
        return expression;
    shortened_.emplace(expression, result);
    return result;
}

} // namespace etna::grammar
