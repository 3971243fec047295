#include "core/grammar/grammar_rules.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {

GrammarRules::Rule& GrammarRules::known(std::string_view name, std::size_t place) {
    auto found = rules_.find(name);
    if (found == rules_.end()) {
        const Expression expression = language_->rule(std::string(name));
        found = rules_.emplace(name, Rule{.expression = expression, .first_seen = place}).first;
    }
    return found->second;
}

Expression GrammarRules::use(std::string_view name, std::size_t place) {
    const Expression rule = known(name, place).expression;
    parts_.insert(rule);
    return rule;
}

Status GrammarRules::end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                                    std::size_t place) {
    Rule& own = known(name, place);
    if (own.definition)
        return source.wrong(fmt::format("the rule `{}` is there twice", name), place);
    own.definition = definition;
    own.parts = std::move(parts_);
    parts_.clear();
    return {};
}

/// Rules that neither are nor use recursive rules: only these can be walked separately.
std::unordered_set<Expression> GrammarRules::flat_rules() const {
    std::unordered_map<Expression, std::vector<Expression>> users;
    std::unordered_map<Expression, std::size_t>
        open_parts; // number of rules in a definition that are not known to be flat
    std::vector<Expression> found;
    for (const auto& [name, rule] : rules_) {
        for (const Expression part : rule.parts)
            users[part].push_back(rule.expression);
        open_parts[rule.expression] = rule.parts.size();
        if (rule.parts.empty())
            found.push_back(rule.expression);
    }
    for (std::size_t at = 0; at < found.size(); ++at) {
        for (const Expression user : users[found[at]]) {
            if (--open_parts[user] == 0)
                found.push_back(user);
        }
    }
    return {found.begin(), found.end()};
}

Result<Expression> GrammarRules::define_all(std::string_view root, const GrammarSource& source) {
    for (const auto& [name, rule] : rules_) {
        if (!rule.definition)
            return source.wrong(fmt::format("there is no rule `{}`", name), rule.first_seen);
    }
    const auto found = rules_.find(root);
    if (found == rules_.end())
        return source.wrong(fmt::format("there is no rule `{}`", root), 0);
    const auto flat = flat_rules();
    for (const auto& [name, rule] : rules_) {
        const bool is_unit = name != root && flat.contains(rule.expression);
        language_->define(rule.expression, is_unit ? language_->unit(*rule.definition) : *rule.definition);
    }
    return found->second.expression;
}

} // namespace etna::grammar
