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

// Private to the room: the rules of a grammar, which may be used before they are defined.
namespace etna::grammar {

class GrammarRules {
public:
    /// Borrows it.
    explicit GrammarRules(Language& language) : language_(&language) {}

    /// A definition begins; what it uses is noted.
    void begin_definition() { parts_.clear(); }

    /// The rule of this name, which stands at `place`.
    Expression use(std::string_view name, std::size_t place);

    /// The definition that was begun is that of `name`, at `place`. Errors: invalid_argument (it has one).
    Status end_definition(std::string_view name, Expression definition, const GrammarSource& source,
                          std::size_t place);

    /// Defines all rules in the language and gives `root`. Errors: invalid_argument (a rule, or the root,
    /// that is not there).
    Result<Expression> define_all(std::string_view root, const GrammarSource& source);

private:
    struct Rule {
        Expression expression = nothing;
        std::optional<Expression> definition = {};
        std::set<Expression> parts = {}; ///< rules in the definition
        std::size_t first_seen = 0;      ///< where in the text
    };

    Rule& known(std::string_view name, std::size_t place);
    [[nodiscard]] std::unordered_set<Expression> flat_rules() const;

    Language* language_;
    std::map<std::string, Rule, std::less<>> rules_;
    std::set<Expression> parts_; ///< rules in the definition that was begun
};

} // namespace etna::grammar
