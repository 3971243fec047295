#pragma once

#include "core/grammar/grammar_source.hpp"
#include "core/grammar/language.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

// Private to core/grammar: the rules of a grammar, which may be used before they are defined.
namespace etna::grammar {

class GrammarRules {
public:
    /// Borrows the language.
    explicit GrammarRules(Language& language) : language_(&language) {}

    /// Starts a definition and records the rules that it uses.
    void begin_definition() { parts_.clear(); }

    /// Returns the rule of this name, used at `place`.
    Expression use(std::string_view name, std::size_t place);

    /// Completes the current definition as that of `name`, at `place`. Errors: invalid_argument (already
    /// defined).
    Status end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                          std::size_t place);

    /// Defines all rules in the language and returns `root`. Errors: invalid_argument (a rule, or the root,
    /// is undefined).
    Result<Expression> define_all(std::string_view root, const GrammarSource& source);

private:
    struct Rule {
        Expression expression = nothing;
        std::optional<Expression> definition = {};
        std::set<Expression> parts = {}; ///< rules in the definition
        std::size_t first_seen = 0;      ///< position in the text
    };

    Rule& known(std::string_view name, std::size_t place);
    [[nodiscard]] std::unordered_set<Expression> flat_rules() const;

    Language* language_;
    std::map<std::string, Rule, std::less<>> rules_;
    std::set<Expression> parts_; ///< rules in the current definition
};

} // namespace etna::grammar
