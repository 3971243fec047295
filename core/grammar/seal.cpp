#include "core/grammar/seal.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace etna::grammar {

/// The parents of each new expression: results for a part are propagated to them.
class Sealing::Users {
public:
    Users(const Expressions& expressions, Expression first)
        : first_(first), begin_(expressions.size() - first_ + 1) {
        each_part(expressions, [this](Expression part, Expression) { ++begin_[part - first_ + 1]; });
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        users_.resize(begin_.back());
        std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
        each_part(expressions, [&](Expression part, Expression user) { users_[at[part - first_]++] = user; });
    }

    [[nodiscard]] std::span<const Expression> of(Expression part) const {
        const std::size_t number = part - first_;
        return std::span(users_).subspan(begin_[number], begin_[number + 1] - begin_[number]);
    }

private:
    template <class Take>
    void each_part(const Expressions& expressions, const Take& take) const {
        for (Expression user = first_; user < expressions.size(); ++user) {
            const Node& node = expressions.node(user);
            for (const Expression part : node.children) {
                if (part >= first_)
                    take(part, user);
            }
            if (node.kind != Kind::rule)
                continue;
            if (const Expression definition = expressions.definition(node); definition >= first_)
                take(definition, user);
        }
    }

    Expression first_;
    std::vector<uint32_t> begin_; ///< into users_, one more than expressions
    std::vector<Expression> users_;
};

/// Computes the least fixed point: expressions that are still unknown when nothing changes are not nullable.
/// Parents of a part found nullable are visited again: one alternative is enough, and other kinds have at
/// most two parts.
void Sealing::find_nullable(const Users& users) {
    std::vector<Expression> found;
    const auto visit_node = [&](Expression e, bool is_alternative) {
        if (expressions_->nullable_[e] != Nullable::unknown)
            return;
        expressions_->nullable_[e] =
            is_alternative ? Nullable::yes : expressions_->nullable_of(expressions_->node(e));
        if (expressions_->nullable_[e] == Nullable::yes)
            found.push_back(e);
    };
    for (Expression e = sealed_nodes_; e < expressions_->size(); ++e)
        visit_node(e, false);
    while (!found.empty()) {
        const Expression part = found.back();
        found.pop_back();
        for (const Expression user : users.of(part))
            visit_node(user, expressions_->node(user).kind == Kind::either);
    }
    std::replace(expressions_->nullable_.begin() + sealed_nodes_, expressions_->nullable_.end(),
                 Nullable::unknown, Nullable::no);
}

/// Whether each new expression, from sealed_nodes_ on, matches some finite text.
std::vector<bool> Sealing::productive(const Users& users) const {
    std::vector<bool> found(expressions_->size() - sealed_nodes_);
    std::vector<Expression> open;
    const auto is_productive = [&](Expression e) {
        return e < sealed_nodes_ ? e != nothing : static_cast<bool>(found[e - sealed_nodes_]);
    };
    const auto holds = [&](const Node& node) {
        switch (node.kind) {
        case Kind::no_string:
            return false;
        case Kind::sequence:
            return std::all_of(node.children.begin(), node.children.end(), is_productive);
        case Kind::either:
            return std::any_of(node.children.begin(), node.children.end(), is_productive);
        case Kind::repeat:
            return node.min == 0 || is_productive(node.children[0]);
        case Kind::unit:
            return is_productive(node.children[0]);
        case Kind::within:
            return within_->is_productive(node);
        case Kind::rule:
            return is_productive(expressions_->definition(node));
        case Kind::empty_string:
        case Kind::bytes:
        case Kind::automaton:
        case Kind::counted:
        case Kind::distinct:
            break;
        }
        return true;
    };
    const auto visit_node = [&](Expression e, bool is_alternative) {
        if (is_productive(e) || !(is_alternative || holds(expressions_->node(e))))
            return;
        found[e - sealed_nodes_] = true;
        open.push_back(e);
    };
    for (Expression e = sealed_nodes_; e < expressions_->size(); ++e)
        visit_node(e, false);
    while (!open.empty()) {
        const Expression part = open.back();
        open.pop_back();
        for (const Expression user : users.of(part))
            visit_node(user, expressions_->node(user).kind == Kind::either);
    }
    return found;
}

/// The expressions that a text of `expression` may begin with.
std::vector<Expression> Sealing::first_parts(Expression expression) const {
    const Node& node = expressions_->node(expression);
    if (node.kind == Kind::rule)
        return {expressions_->definition(node)};
    if (node.kind == Kind::sequence && expressions_->nullable_[node.children[0]] == Nullable::no)
        return {node.children[0]};
    return node.children;
}

/// Returns a left-recursive rule, or null: walking one would never end.
const Sealing::Rule* Sealing::left_recursive() const {
    enum class Visit : uint8_t { none, open, done };
    struct Step {
        Expression expression;
        std::vector<Expression> children;
        std::size_t at = 0;
    };
    std::vector<Visit> new_visits(expressions_->size() - sealed_nodes_, Visit::none);
    Visit done = Visit::done;
    const auto visit = [&](Expression e) -> Visit& {
        return e < sealed_nodes_ ? done : new_visits[e - sealed_nodes_];
    };
    std::vector<Step> path;
    const auto enter = [&](Expression e) {
        visit(e) = Visit::open;
        path.push_back({.expression = e, .children = first_parts(e)});
    };
    for (Expression start = sealed_nodes_; start < expressions_->size(); ++start) {
        if (expressions_->node(start).kind == Kind::rule && visit(start) == Visit::none)
            enter(start);
        while (!path.empty()) {
            Step& step = path.back();
            if (step.at == step.children.size()) {
                visit(step.expression) = Visit::done;
                path.pop_back();
                continue;
            }
            const Expression child = step.children[step.at++];
            if (visit(child) == Visit::none) {
                enter(child);
            } else if (visit(child) == Visit::open) { // every cycle contains a rule
                while (expressions_->node(path.back().expression).kind != Kind::rule)
                    path.pop_back();
                return &expressions_->rules_[expressions_->node(path.back().expression).index];
            }
        }
    }
    return nullptr;
}

/// Children precede their parents, except through rules: one pass in order rewrites all expressions, and a
/// second one the definitions.
Expression Sealing::without_unproductive(Expression root, const std::vector<bool>& is_productive) {
    std::vector<Expression> images(is_productive.size(), nothing);
    const Expression first = sealed_nodes_;
    const auto image = [&](Expression e) { return e < first ? e : images[e - first]; };
    for (std::size_t i = 0; i < images.size(); ++i) {
        if (!is_productive[i])
            continue;
        const auto e = static_cast<Expression>(first + i);
        const Node node = expressions_->node(e);
        std::vector<Expression> children;
        children.reserve(node.children.size());
        for (const Expression child : node.children)
            children.push_back(image(child));
        if (children == node.children) {
            images[i] = e;
        } else if (node.kind == Kind::sequence) {
            images[i] = expressions_->sequence(children);
        } else if (node.kind == Kind::either) {
            images[i] = expressions_->either(children);
        } else if (node.kind == Kind::unit) {
            images[i] = expressions_->unit(children[0]);
        } else if (node.kind == Kind::within) {
            images[i] = expressions_->add(
                {.kind = Kind::within, .children = children, .index = node.index, .state = node.state});
        } else {
            images[i] = expressions_->repeat(children[0], node.min, node.max);
        }
    }
    for (std::size_t rule = sealed_rules_; rule < expressions_->rules_.size(); ++rule)
        expressions_->rules_[rule].definition = image(*expressions_->rules_[rule].definition);
    return image(root);
}

Result<Expression> Sealing::seal(Expression root) {
    for (std::size_t rule = sealed_rules_; rule < expressions_->rules_.size(); ++rule)
        expressions_->rules_[rule].definition = expressions_->rules_[rule].definition.value_or(nothing);
    const Users users(*expressions_, sealed_nodes_);
    find_nullable(users);
    const Rule* const recursive = left_recursive();
    for (Expression e = sealed_nodes_;
         e < expressions_->size() && recursive == nullptr && !expressions_->is_full(); ++e) {
        if (expressions_->node(e).kind == Kind::within)
            within_->find_paths(expressions_->node(e));
    }
    if (recursive == nullptr && !expressions_->is_full())
        root = without_unproductive(root, productive(users));
    sealed_rules_ = expressions_->rules_.size();
    sealed_nodes_ = static_cast<Expression>(expressions_->size());
    if (recursive != nullptr) {
        return Error{ErrorKind::unsupported, fmt::format("`{}` is left-recursive", recursive->name),
                     "use right recursion: `list ::= item list` instead of `list ::= list item`"};
    }
    ETNA_CHECK(expressions_->check());
    if (root == nothing)
        return invalid_argument(
            "no text fits the grammar",
            "give every rule an alternative that ends, and every schema a value that fits");
    return root;
}

} // namespace etna::grammar
