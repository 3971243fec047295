#include "core/grammar/masks.hpp"

#include <algorithm>
#include <utility>

namespace etna::grammar {
namespace {

/// How deep counts are looked for in a head; what is deeper keeps them as they are.
constexpr int shortened_depth_max = 100;

/// Heads that are kept, each with a mask: then all are forgotten.
constexpr std::size_t heads_max = 1024;

/// Calls `reach` with each node of [first, end) that its bytes lead to. `path` has the states by depth, those
/// of the nodes above `first` already.
template <class Reach>
void follow(Language& language, const TokenTree& tree, std::vector<Expression>& path, uint32_t first,
            uint32_t end, const Reach& reach) {
    for (uint32_t node = first; node < end;) {
        const uint32_t depth = tree.depth(node);
        path[depth] = language.next(path[depth - 1], tree.byte(node));
        if (path[depth] == nothing) {
            node = tree.end(node);
            continue;
        }
        reach(node);
        ++node;
    }
}

} // namespace

TokenMask& TokenMask::operator|=(const TokenMask& other) {
    for (std::size_t i = 0; i < words_.size(); ++i)
        words_[i] |= other.words_[i];
    return *this;
}

Vocabulary::Vocabulary(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {
    std::vector<std::pair<std::string_view, TokenId>> few;
    std::vector<std::pair<std::string_view, TokenId>> many;
    for (TokenId token = 0; token < bytes_.size(); ++token)
        (bytes_[token].size() <= short_bytes ? few : many).emplace_back(bytes_[token], token);
    short_ = TokenTree(std::move(few));
    long_ = TokenTree(std::move(many));
}

Masks::Masks(Language& language, const Vocabulary& vocabulary)
    : language_(&language), vocabulary_(&vocabulary),
      path_(std::max(vocabulary.short_tokens().depth_max(), vocabulary.long_tokens().depth_max()) + 1) {}

TokenMask Masks::mask(Expression state) {
    TokenMask mask(vocabulary_->size());
    add(state, mask);
    walk(state, vocabulary_->long_tokens(), mask);
    return mask;
}

/// Short tokens.
void Masks::add(Expression state, TokenMask& mask) {
    const Node node = language_->node(state);
    const auto is_unit = [&](Expression e) {
        const Kind kind = language_->node(e).kind;
        return kind == Kind::unit || kind == Kind::automaton;
    };
    if (node.kind == Kind::either) {
        for (const Expression one : node.children)
            add(one, mask);
    } else if (is_unit(state)) {
        mask |= head(state).inside;
    } else if (node.kind == Kind::sequence && is_unit(node.children[0])) {
        const auto& [unit, rest] = std::pair(node.children[0], node.children[1]);
        const Head& first = head(unit);
        mask |= first.inside;
        add_beyond(first, rest, mask);
        if (language_->is_nullable(unit))
            add(rest, mask);
    } else {
        walk(state, vocabulary_->short_tokens(), mask);
    }
}

void Masks::add_beyond(const Head& head, Expression rest, TokenMask& mask) {
    const TokenTree& tree = vocabulary_->short_tokens();
    for (std::size_t byte = 0; byte + 1 < head.first_beyond.size(); ++byte) {
        if (head.first_beyond[byte] == head.first_beyond[byte + 1])
            continue;
        const Expression after = language_->next(rest, static_cast<uint8_t>(byte));
        if (after == nothing)
            continue;
        for (uint32_t i = head.first_beyond[byte]; i < head.first_beyond[byte + 1]; ++i)
            walk_from(head.beyond[i], after, tree, mask);
    }
}

void Masks::walk(Expression state, const TokenTree& tree, TokenMask& mask) {
    for (uint32_t node = 0; node < tree.size(); node = tree.end(node)) {
        if (const Expression after = language_->next(state, tree.byte(node)); after != nothing)
            walk_from(node, after, tree, mask);
    }
}

void Masks::walk_from(uint32_t node, Expression state, const TokenTree& tree, TokenMask& mask) {
    const auto allow = [&](uint32_t reached) {
        for (const TokenId token : tree.tokens(reached))
            mask.allow(token);
    };
    path_[tree.depth(node)] = state;
    allow(node);
    follow(*language_, tree, path_, node + 1, tree.end(node), allow);
}

const Masks::Head& Masks::head(Expression unit) {
    const Expression key = shortened(unit);
    if (const auto known = heads_.find(key); known != heads_.end())
        return known->second;
    if (heads_.size() == heads_max)
        heads_.clear();
    return heads_.emplace(key, walk_head(key)).first->second;
}

Masks::Head Masks::walk_head(Expression unit) {
    const TokenTree& tree = vocabulary_->short_tokens();
    Head head{.inside = TokenMask(vocabulary_->size())};
    path_[0] = unit;
    std::vector<uint32_t> ends; // nodes at which the head may end
    follow(*language_, tree, path_, 0, tree.size(), [&](uint32_t node) {
        for (const TokenId token : tree.tokens(node))
            head.inside.allow(token);
        if (language_->is_nullable(path_[tree.depth(node)]))
            ends.push_back(node);
    });
    collect_beyond(ends, head);
    return head;
}

void Masks::collect_beyond(const std::vector<uint32_t>& ends, Head& head) const {
    const TokenTree& tree = vocabulary_->short_tokens();
    const auto leads_outside = [&](uint32_t node) {
        const auto tokens = tree.tokens(node, tree.end(node));
        return std::any_of(tokens.begin(), tokens.end(),
                           [&](TokenId token) { return !head.inside.allows(token); });
    };
    std::vector<uint32_t> nodes;
    for (const uint32_t end : ends) {
        for (uint32_t child = end + 1; child < tree.end(end); child = tree.end(child)) {
            if (leads_outside(child))
                nodes.push_back(child);
        }
    }
    for (const uint32_t node : nodes)
        ++head.first_beyond[tree.byte(node) + 1U];
    for (std::size_t byte = 1; byte < head.first_beyond.size(); ++byte)
        head.first_beyond[byte] += head.first_beyond[byte - 1];
    auto next = head.first_beyond;
    head.beyond.resize(nodes.size());
    for (const uint32_t node : nodes)
        head.beyond[next[tree.byte(node)]++] = node;
}

/// The same for all short tokens: no count is larger than they can tell.
Expression Masks::shortened(Expression expression, int depth) {
    if (depth == shortened_depth_max)
        return expression;
    if (const auto known = shortened_.find(expression); known != shortened_.end())
        return known->second;
    const Node node = language_->node(expression);
    std::vector<Expression> children;
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
        result = language_->repeat(children[0], std::min(node.least, enough),
                                   node.most > enough ? unbounded : node.most);
        break;
    default:
        break;
    }
    shortened_.emplace(expression, result);
    return result;
}

} // namespace etna::grammar
