#include "core/grammar/lark.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/strings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

/// Strings that are texts of a grammar, which may be recursive and so, unlike a pattern, is not an automaton.
namespace etna::grammar {
namespace {

using Text = StringConstraints::Text;

/// Memory limit for checking a grammar on its own: one letter represents all characters, so that it is
/// smaller than the compiled grammar.
constexpr std::size_t bytes_of_check = std::size_t{32} << 20;

bool is_grammar(const Text& text) {
    return text.kind == Text::Kind::lark;
}

/// A keyword that constrains the strings, or empty.
std::string_view keyword_of(const StringConstraints& constraints) {
    if (constraints.values)
        return "enum";
    if (!constraints.excluded.empty())
        return "not";
    if (constraints.length.min > 0)
        return "minLength";
    if (constraints.length.max != unbounded)
        return "maxLength";
    if (constraints.texts.empty())
        return {};
    const Text& text = constraints.texts.front();
    if (text.is_negated)
        return "not";
    return keyword_of(text.kind);
}

} // namespace

const Text* grammar_of(const StringConstraints& constraints) {
    const auto found = std::find_if(constraints.texts.begin(), constraints.texts.end(), is_grammar);
    return found == constraints.texts.end() ? nullptr : &*found;
}

StringConstraints without_grammars(const StringConstraints& constraints) {
    StringConstraints others = constraints;
    std::erase_if(others.texts, is_grammar);
    return others;
}

Error SchemaStrings::not_joined(const Text& grammar, std::string_view other) const {
    return document_->error(ErrorKind::unsupported, *grammar.schema, lark_keyword,
                            fmt::format("a grammar cannot be enforced together with `{}`", other),
                            "express all of it in the grammar");
}

Result<Expression> SchemaStrings::of_grammar(const StringConstraints& constraints, const Text& grammar) {
    const StringConstraints others = without_grammars(constraints);
    auto texts = one_grammar(constraints, grammar);
    if (!texts && texts.error().kind == ErrorKind::unsupported && dropped_ != nullptr) {
        dropped_->add(*grammar.schema, lark_keyword);
        return quoted(others);
    }
    ETNA_TRY(const Expression content, std::move(texts));
    // Not a unit: recursive text is not a reusable head. Its flat rules are units already.
    return language_->sequence(std::array{form_.open, content, form_.close});
}

/// The texts of one grammar that satisfy all other constraints.
Result<Expression> SchemaStrings::one_grammar(const StringConstraints& constraints, const Text& grammar) {
    const StringConstraints others = without_grammars(constraints);
    if (grammar.is_negated)
        return not_joined(grammar, "not");
    if (others.texts.size() + 1 < constraints.texts.size())
        return not_joined(grammar, lark_keyword);
    ETNA_TRY(const Expression texts, grammar_texts(grammar));
    const std::string_view keyword = keyword_of(others);
    if (keyword.empty() && form_.without.empty() && !form_.among)
        return texts;
    ETNA_TRY(const Automaton allowed, keyword.empty() ? any_automaton() : automaton(others));
    auto both = language_->within(texts, allowed);
    return both || keyword.empty() ? both : not_joined(grammar, keyword);
}

Result<Expression> SchemaStrings::grammar_texts(const Text& grammar) {
    const auto known = grammars_.find(grammar.text);
    if (known != grammars_.end())
        return known->second;
    const Alphabet alphabet = [this](const CodePoints& set) { return any_character(set); };
    const Status is_right = check_alone(grammar.text);
    auto made = is_right ? lark_rules(*language_, grammar.text, alphabet) : is_right.error();
    if (!made) {
        const Error& error = made.error();
        return document_->error(error.kind, *grammar.schema, lark_keyword, error.message, error.hint);
    }
    grammars_.emplace(grammar.text, *made);
    return *made;
}

/// Checks in a separate language, because the grammar's rules cannot be sealed among others that are not
/// defined yet. Charges the steps to the main language.
Status SchemaStrings::check_alone(const std::string& grammar) {
    Language alone(bytes_of_check);
    const uint64_t steps_before = language_->steps_left();
    alone.set_step_budget(steps_before, true);
    const Expression letter = alone.literal("a");
    const Alphabet one_letter = [letter](const CodePoints& set) { return set.is_empty() ? nothing : letter; };
    auto made = lark_rules(alone, grammar, one_letter);
    if (made)
        made = alone.seal(*made);
    language_->charge_steps(steps_before - alone.steps_left());
    return made ? Status() : Status(made.error());
}

} // namespace etna::grammar
