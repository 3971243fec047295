#include "core/grammar/language.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace etna::grammar {

/// The least solution: what is unknown until nothing changes any more is not nullable.
void Language::find_nullable() {
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (Expression e = sealed_nodes_; e < nodes_.size(); ++e) {
            if (nullable_[e] != Nullable::unknown)
                continue;
            nullable_[e] = nullable_of(nodes_[e]);
            has_changed = has_changed || nullable_[e] != Nullable::unknown;
        }
    }
    std::replace(nullable_.begin(), nullable_.end(), Nullable::unknown, Nullable::no);
}

/// Which expressions some finite text fits.
std::vector<bool> Language::productive() const {
    std::vector<bool> is_productive(nodes_.size());
    std::fill_n(is_productive.begin() + 1, std::max<Expression>(sealed_nodes_, 1) - 1,
                true); // all but `nothing`
    const auto holds = [&](const Node& node) {
        const auto productive_child = [&](Expression child) { return is_productive[child]; };
        switch (node.kind) {
        case Kind::no_string:
            return false;
        case Kind::sequence:
            return std::all_of(node.children.begin(), node.children.end(), productive_child);
        case Kind::either:
            return std::any_of(node.children.begin(), node.children.end(), productive_child);
        case Kind::repeat:
            return node.least == 0 || is_productive[node.children[0]];
        case Kind::unit:
            return static_cast<bool>(is_productive[node.children[0]]);
        case Kind::rule:
            return static_cast<bool>(is_productive[*rules_[node.index].definition]);
        case Kind::empty_string:
        case Kind::bytes:
        case Kind::automaton:
            break;
        }
        return true;
    };
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (Expression e = sealed_nodes_; e < nodes_.size(); ++e) {
            if (!is_productive[e] && holds(nodes_[e]))
                has_changed = is_productive[e] = true;
        }
    }
    return is_productive;
}

/// What a text of `expression` may begin with.
std::vector<Expression> Language::beginnings(Expression expression) const {
    const Node& node = nodes_[expression];
    if (node.kind == Kind::rule)
        return {*rules_[node.index].definition};
    if (node.kind == Kind::sequence && nullable_[node.children[0]] == Nullable::no)
        return {node.children[0]};
    return node.children;
}

/// A rule that may stand at its own beginning, or null: walking it would never end.
const Language::Rule* Language::left_recursive() const {
    enum class Visit : uint8_t { none, open, done };
    struct Step {
        Expression expression;
        std::vector<Expression> children;
        std::size_t at = 0;
    };
    std::vector<Visit> visits(nodes_.size(), Visit::none);
    std::fill_n(visits.begin(), sealed_nodes_, Visit::done);
    std::vector<Step> path;
    const auto enter = [&](Expression e) {
        visits[e] = Visit::open;
        path.push_back({.expression = e, .children = beginnings(e)});
    };
    for (Expression start = sealed_nodes_; start < nodes_.size(); ++start) {
        if (nodes_[start].kind == Kind::rule && visits[start] == Visit::none)
            enter(start);
        while (!path.empty()) {
            Step& step = path.back();
            if (step.at == step.children.size()) {
                visits[step.expression] = Visit::done;
                path.pop_back();
                continue;
            }
            const Expression child = step.children[step.at++];
            if (visits[child] == Visit::none) {
                enter(child);
            } else if (visits[child] == Visit::open) { // every way round leads through a rule
                while (nodes_[path.back().expression].kind != Kind::rule)
                    path.pop_back();
                return &rules_[nodes_[path.back().expression].index];
            }
        }
    }
    return nullptr;
}

/// Children stand before their parents, but for rules: so one pass in order rewrites everything, and a second
/// one the definitions.
Expression Language::without_unproductive(Expression root, const std::vector<bool>& is_productive) {
    const std::size_t count = is_productive.size();
    std::vector<Expression> image(count, nothing);
    for (Expression e = 0; e < count; ++e) {
        if (!is_productive[e])
            continue;
        const Node node = nodes_[e];
        std::vector<Expression> children;
        for (const Expression child : node.children)
            children.push_back(image[child]);
        if (children == node.children) {
            image[e] = e;
        } else if (node.kind == Kind::sequence) {
            image[e] = sequence(children);
        } else if (node.kind == Kind::either) {
            image[e] = either(children);
        } else if (node.kind == Kind::unit) {
            image[e] = unit(children[0]);
        } else {
            image[e] = repeat(children[0], node.least, node.most);
        }
    }
    for (std::size_t rule = sealed_rules_; rule < rules_.size(); ++rule)
        rules_[rule].definition = image[*rules_[rule].definition];
    return image[root];
}

/// Rewrites what was built since the last call; after it, rules are as good as any other expression.
Result<Expression> Language::seal(Expression root) {
    for (Rule& rule : rules_)
        rule.definition = rule.definition.value_or(nothing);
    find_nullable();
    const Rule* const endless = left_recursive();
    if (endless == nullptr)
        root = without_unproductive(root, productive());
    sealed_rules_ = rules_.size();
    sealed_nodes_ = static_cast<Expression>(nodes_.size());
    if (endless != nullptr) {
        return Error{
            ErrorKind::unsupported, fmt::format("`{}` begins with itself", endless->name),
            "let it begin with something else: `list ::= item list` instead of `list ::= list item`"};
    }
    if (is_full_) {
        return Error{ErrorKind::unsupported,
                     fmt::format("the grammar needs more than {} MiB", bytes_max_ >> 20),
                     "make it smaller, or its bounds"};
    }
    if (root == nothing) {
        return Error{ErrorKind::invalid_argument, "no text fits the grammar",
                     "every rule needs an alternative that comes to an end"};
    }
    return root;
}

} // namespace etna::grammar
