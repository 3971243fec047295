#include "core/grammar/masks.hpp"

#include <algorithm>
#include <utility>

namespace etna::grammar {
namespace {

/// How deep counts are looked for in a head; what is deeper keeps them as they are.
constexpr int shortened_depth_max = 100;

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
    : language_(&language), vocabulary_(&vocabulary) {}

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
        walk(rest, first.beyond, mask);
        if (language_->is_nullable(unit))
            add(rest, mask);
    } else {
        walk(state, vocabulary_->short_tokens(), mask);
    }
}

void Masks::walk(Expression state, const TokenTree& tree, TokenMask& mask) {
    std::vector<Expression> path(tree.depth_max() + 1, state);
    for (uint32_t node = 0; node < tree.size();) {
        const uint32_t depth = tree.depth(node);
        path[depth] = language_->next(path[depth - 1], tree.byte(node));
        if (path[depth] == nothing) {
            node = tree.end(node);
            continue;
        }
        for (const TokenId token : tree.tokens(node))
            mask.allow(token);
        ++node;
    }
}

const Masks::Head& Masks::head(Expression unit) {
    const Expression key = shortened(unit);
    const auto known = heads_.find(key);
    return known != heads_.end() ? known->second : heads_.emplace(key, walk_head(key)).first->second;
}

Masks::Head Masks::walk_head(Expression unit) {
    const TokenTree& tree = vocabulary_->short_tokens();
    Head head{.inside = TokenMask(vocabulary_->size()), .beyond = {}};
    std::vector<Expression> path(tree.depth_max() + 1, unit);
    std::vector<uint32_t> ends; // nodes at which the head may end
    for (uint32_t node = 0; node < tree.size();) {
        const uint32_t depth = tree.depth(node);
        path[depth] = language_->next(path[depth - 1], tree.byte(node));
        if (path[depth] == nothing) {
            node = tree.end(node);
            continue;
        }
        for (const TokenId token : tree.tokens(node))
            head.inside.allow(token);
        if (language_->is_nullable(path[depth]))
            ends.push_back(node);
        ++node;
    }
    std::vector<std::pair<std::string_view, TokenId>> beyond;
    for (const uint32_t node : ends) {
        for (const TokenId token : tree.tokens(node + 1, tree.end(node))) {
            if (!head.inside.allows(token))
                beyond.emplace_back(vocabulary_->bytes(token).substr(tree.depth(node)), token);
        }
    }
    head.beyond = TokenTree(std::move(beyond));
    return head;
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
