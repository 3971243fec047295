#include "core/grammar/grammar_rules.hpp"

#include <algorithm>

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
    names_.emplace(name);
    return known(name, place).expression;
}

Status GrammarRules::end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                                    std::size_t place) {
    Rule& own = known(name, place);
    if (own.definition)
        return source.wrong(fmt::format("the rule `{}` is there twice", name), place);
    own.definition = definition;
    own.names = names_;
    return {};
}

/// Rules that do not come back to themselves through others: only these can be walked by themselves.
std::set<std::string, std::less<>> GrammarRules::flat_rules() const {
    std::set<std::string, std::less<>> flat;
    for (bool has_grown = true; has_grown;) {
        has_grown = false;
        for (const auto& [name, rule] : rules_) {
            const bool is_flat = std::all_of(rule.names.begin(), rule.names.end(),
                                             [&](const std::string& other) { return flat.contains(other); });
            has_grown = (is_flat && flat.insert(name).second) || has_grown;
        }
    }
    return flat;
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
        const bool is_unit = name != root && flat.contains(name);
        language_->define(rule.expression, is_unit ? language_->unit(*rule.definition) : *rule.definition);
    }
    return found->second.expression;
}

} // namespace etna::grammar
