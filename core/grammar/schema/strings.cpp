#include "core/grammar/schema/strings.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/formats.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "core/grammar/vocabulary.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

std::u32string code_points_of(std::string_view text) {
    std::u32string all;
    while (!text.empty()) {
        const Utf8Step step = next_utf8(text);
        all += code_point_of(text, step.bytes);
        text.remove_prefix(step.bytes);
    }
    return all;
}

} // namespace

std::string_view keyword_of(StringConstraints::Text::Kind kind) {
    switch (kind) {
    case StringConstraints::Text::Kind::pattern:
        break;
    case StringConstraints::Text::Kind::name_pattern:
        return "patternProperties";
    case StringConstraints::Text::Kind::format:
        return "format";
    case StringConstraints::Text::Kind::lark:
        return lark_keyword;
    }
    return "pattern";
}

bool accepts(const Automaton& automaton, std::string_view text) {
    if (automaton.state_count() == 0)
        return false;
    uint32_t state = 0;
    for (const char byte : text) {
        state = automaton.next(state, static_cast<uint8_t>(byte));
        if (state == Automaton::dead)
            return false;
    }
    return automaton.accepts[state];
}

SchemaStrings::SchemaStrings(Language& language, const SchemaDocument& document, DroppedKeywords* dropped,
                             StringForm form)
    : language_(&language), document_(&document), dropped_(dropped), form_(std::move(form)) {
    for (const std::string& one : form_.without)
        excluded_.add(code_points_of(one).front());
    character_ = character(CodePoints::all());
}

/// Excludes the first characters of marks: for texts that must contain no mark and satisfy other constraints.
Expression SchemaStrings::character(const CodePoints& set) {
    return any_character(excluded_.is_empty() ? set : set.without(excluded_));
}

Expression SchemaStrings::any_character(const CodePoints& set) {
    const auto [entry, is_new] = characters_.try_emplace(set, nothing);
    if (is_new) {
        entry->second = form_.escapes == StringForm::Escapes::json ? json_character(*language_, set)
                                                                   : utf8(*language_, set);
    }
    return entry->second;
}

Expression SchemaStrings::any_character_but(const CodePoints& letters) {
    const auto [entry, is_new] = characters_but_.try_emplace(letters, nothing);
    if (is_new)
        entry->second = character(letters.complement());
    return entry->second;
}

std::optional<std::string> SchemaStrings::written(const std::string& text) const {
    std::string result = form_.escapes == StringForm::Escapes::json ? json_escaped(text) : text;
    const bool has_mark =
        std::any_of(form_.without.begin(), form_.without.end(),
                    [&](const std::string& one) { return result.find(one) != std::string::npos; });
    if (has_mark || (form_.among && !accepts(*form_.among, result)))
        return std::nullopt;
    return result;
}

Expression SchemaStrings::quoted(Expression content) {
    if (content == nothing)
        return nothing;
    return language_->unit(language_->sequence(std::array{form_.open, content, form_.close}));
}

Result<Expression> SchemaStrings::quoted(const StringConstraints& constraints) {
    if (const Text* const grammar = grammar_of(constraints))
        return of_grammar(constraints, *grammar);
    ETNA_TRY(const Expression inside, content(constraints));
    return quoted(inside);
}

/// Strings that only have a length limit are not worth an automaton; nor is a single pattern, unless its
/// characters are counted.
Result<Expression> SchemaStrings::content(const StringConstraints& constraints) {
    if (constraints.values)
        return one_of(constraints);
    ETNA_TRY(const std::vector<Text> texts, saying(constraints.texts));
    const bool is_counted = constraints.length != CountRange{};
    const bool is_free = texts.empty() && constraints.excluded.empty();
    if (is_free && !is_counted)
        return any_text();
    if (is_free && !form_.among)
        return of_length(constraints.length);
    const bool is_one_text = !form_.among && texts.size() == 1 && !texts[0].is_negated && !is_counted &&
                             constraints.excluded.empty();
    if (is_one_text) {
        ETNA_TRY(const auto expression, expression_of(texts[0]));
        return *expression;
    }
    auto made = counted(constraints);
    return made || texts.empty() ? made : with_place(made.error(), texts[0]);
}

/// Counts the length separately from the other constraints.
Result<Expression> SchemaStrings::counted(const StringConstraints& constraints) {
    StringConstraints others = constraints;
    others.length = {};
    ETNA_TRY(const Automaton all, automaton(others));
    if (constraints.length == CountRange{})
        return language_->accepted(all);
    if (!characters_of_all_) {
        const Expression any = any_character(CodePoints::all());
        ETNA_TRY(characters_of_all_, language_->automaton(language_->repeat(any, 0)));
    }
    return language_->counted(all, *characters_of_all_, constraints.length.min, constraints.length.max);
}

/// The constraints that are enforced.
Result<std::vector<StringConstraints::Text>> SchemaStrings::saying(const std::vector<Text>& texts) {
    std::vector<Text> some;
    for (const Text& text : texts) {
        ETNA_TRY(const auto expression, expression_of(text));
        if (expression)
            some.push_back(text);
    }
    return some;
}

/// Adds the pointer to an error that has none.
Error SchemaStrings::with_place(const Error& error, const Text& text) const {
    if (error.message.starts_with('#'))
        return error;
    return document_->error(error.kind, *text.schema, keyword_of(text.kind), error.message, error.hint);
}

Result<Expression> SchemaStrings::any_text() {
    if (form_.without.empty() && !form_.among)
        return of_length({});
    ETNA_TRY(const Automaton all, any_automaton());
    return language_->accepted(all);
}

/// All texts that strings may contain.
Result<Automaton> SchemaStrings::any_automaton() {
    const Expression any = any_character(CodePoints::all());
    ETNA_TRY(Automaton all, language_->automaton(language_->repeat(any, 0)));
    ETNA_TRY(const Automaton free, without(form_.without));
    ETNA_TRY(all, language_->both(all, free));
    if (form_.among) {
        ETNA_TRY(all, language_->both(all, *form_.among));
    }
    return all;
}

Expression SchemaStrings::of_length(const CountRange& length) {
    return length.is_empty() ? nothing : language_->repeat(character_, length.min, length.max);
}

Result<Automaton> SchemaStrings::automaton(const StringConstraints& constraints) {
    if (const Text* const grammar = grammar_of(constraints)) {
        if (dropped_ == nullptr)
            return not_joined(*grammar, "propertyNames");
        dropped_->add(*grammar->schema, lark_keyword);
        return automaton(without_grammars(constraints));
    }
    if (constraints.values) {
        ETNA_TRY(const Expression values, one_of(constraints));
        return language_->automaton(values);
    }
    ETNA_TRY(Automaton all, matching_all(constraints.texts));
    if (constraints.length != CountRange{}) {
        ETNA_TRY(const Automaton lengths, language_->automaton(of_length(constraints.length)));
        ETNA_TRY(all, language_->both(all, lengths));
    }
    if (form_.among) {
        ETNA_TRY(all, language_->both(all, *form_.among));
    }
    if (!constraints.excluded.empty()) {
        ETNA_TRY(const Expression others, all_but(constraints.excluded));
        ETNA_TRY(const Automaton other_strings, language_->automaton(others));
        ETNA_TRY(all, language_->both(all, other_strings));
    }
    return all;
}

/// The first text that is not negated needs no intersection with all strings.
Result<Automaton> SchemaStrings::matching_all(const std::vector<Text>& texts) {
    std::optional<Automaton> all;
    for (const bool is_negated : {false, true}) {
        if (is_negated && !all) {
            ETNA_TRY(all, language_->automaton(of_length({})));
        }
        for (const Text& text : texts) {
            ETNA_TRY(const Automaton* const one, matching(text));
            if (one == nullptr || text.is_negated != is_negated)
                continue;
            if (is_negated) {
                ETNA_TRY(const Automaton others, language_->all_but(*one));
                ETNA_TRY(all, language_->both(*all, others));
            } else if (all) {
                ETNA_TRY(all, language_->both(*all, *one));
            } else {
                all = *one;
            }
        }
    }
    return std::move(*all);
}

/// Follows the prefixes of the excluded strings: after a character that continues none of them, any text may
/// follow. `words` are sorted and have their first `at` characters in common.
Expression SchemaStrings::all_but_words(std::span<const std::u32string> words, std::size_t at) {
    std::vector<Expression> alternatives;
    std::vector<CodePoints::Range> letters;
    if (!words.empty() && words.front().size() == at) {
        words = words.subspan(1); // the text may not end here
    } else {
        alternatives.push_back(empty);
    }
    while (!words.empty() && language_->check().has_value()) {
        const char32_t letter = words.front()[at];
        const auto end = std::find_if(words.begin(), words.end(),
                                      [&](const std::u32string& word) { return word[at] != letter; });
        const auto count = static_cast<std::size_t>(end - words.begin());
        const CodePoints one = {{letter, letter}};
        letters.push_back({letter, letter});
        alternatives.push_back(
            language_->sequence(character(one), all_but_words(words.subspan(0, count), at + 1)));
        words = words.subspan(count);
    }
    alternatives.push_back(
        language_->sequence(any_character_but(CodePoints(std::move(letters))), of_length({})));
    return language_->either(alternatives);
}

Result<Expression> SchemaStrings::all_but(const std::vector<std::string>& excluded) {
    std::vector<std::u32string> words;
    std::size_t characters = 0;
    for (const std::string& one : excluded) {
        words.push_back(code_points_of(one));
        characters += words.back().size();
        if (characters > excluded_lengths_max) {
            return Error{ErrorKind::unsupported,
                         fmt::format("the excluded names or values have more than {} characters",
                                     excluded_lengths_max),
                         "use fewer or shorter ones"};
        }
        if (words.back().size() > excluded_length_max) {
            return Error{ErrorKind::unsupported,
                         fmt::format("a name or value has more than {} characters", excluded_length_max),
                         "shorten it"};
        }
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words.empty() ? of_length({}) : all_but_words(words, 0);
}

Result<Expression> SchemaStrings::one_of(const StringConstraints& constraints) {
    const std::set<std::string_view> excluded(constraints.excluded.begin(), constraints.excluded.end());
    std::vector<std::string> fitting;
    for (const std::string& value : *constraints.values) {
        if (excluded.contains(value))
            continue;
        ETNA_TRY(const bool is_fitting, fits(value, constraints));
        if (is_fitting)
            fitting.push_back(*written(value));
    }
    return language_->any_of(std::move(fitting));
}

bool SchemaStrings::has_excluded(const std::string& text) const {
    const std::u32string all = code_points_of(text);
    return std::any_of(all.begin(), all.end(), [this](char32_t one) { return excluded_.contains(one); });
}

Result<bool> SchemaStrings::fits(const std::string& value, const StringConstraints& constraints) {
    const std::size_t length = code_points_of(value).size();
    if (length < constraints.length.min || length > constraints.length.max)
        return false;
    const auto as_written = written(value);
    if (!as_written || (!constraints.texts.empty() && has_excluded(value))) // patterns never match these
        return false;
    for (const Text& text : constraints.texts) {
        ETNA_TRY(const Automaton* const one, matching(text));
        if (one != nullptr && accepts(*one, *as_written) == text.is_negated)
            return false;
    }
    return true;
}

/// Null if the format has none, or if its characters may not occur in strings.
const Automaton* SchemaStrings::cached_automaton(const Text& text) const {
    if (text.kind != Text::Kind::format)
        return nullptr;
    const bool is_excluded =
        std::any_of(characters_of_automata.begin(), characters_of_automata.end(),
                    [this](char one) { return excluded_.contains(static_cast<char32_t>(one)); });
    return is_excluded ? nullptr : automaton_of_format(text.text);
}

/// Empty if the constraint cannot be enforced and is dropped.
Result<std::optional<Expression>> SchemaStrings::expression_of(const Text& text) {
    const Key key{text.kind, text.text};
    auto known = expressions_.find(key);
    if (known == expressions_.end()) {
        ETNA_TRY(const auto made, new_expression_of(text));
        known = expressions_.emplace(key, made).first;
    }
    if (!known->second)
        dropped_->add(*text.schema, keyword_of(text.kind));
    return known->second;
}

Result<std::optional<Expression>> SchemaStrings::new_expression_of(const Text& text) {
    if (const Automaton* const cached = cached_automaton(text))
        return std::optional(language_->accepted(*cached));
    const bool is_format = text.kind == Text::Kind::format;
    std::string regular = text.text;
    if (is_format) {
        const auto known = pattern_of_format(text.text);
        if (!known && dropped_ != nullptr)
            return std::optional<Expression>{};
        if (!known) {
            return document_->error(
                ErrorKind::unsupported, *text.schema, "format",
                fmt::format("the format \"{}\" cannot be enforced", text.text),
                "leave it out, express it as a `pattern`, or have it left out (--lenient-schema)");
        }
        regular = *known;
    }
    const Alphabet alphabet = [this](const CodePoints& set) { return character(set); };
    auto found = regex(*language_, regular, alphabet, is_format ? MatchMode::full : MatchMode::search);
    if (found)
        return std::optional(*found);
    const Error& error = found.error();
    if (error.kind == ErrorKind::unsupported && dropped_ != nullptr && text.kind == Text::Kind::pattern)
        return std::optional<Expression>{};
    return document_->error(error.kind, *text.schema, keyword_of(text.kind), error.message, error.hint);
}

Result<const Automaton*> SchemaStrings::matching(const Text& text) {
    if (const Automaton* const cached = cached_automaton(text))
        return cached;
    const Key key{text.kind, text.text};
    auto known = automata_.find(key);
    if (known == automata_.end()) {
        ETNA_TRY(const auto expression, expression_of(text));
        std::optional<Automaton> made;
        if (expression) {
            ETNA_TRY(made, language_->automaton(*expression));
        }
        known = automata_.emplace(key, std::move(made)).first;
    }
    if (!known->second)
        dropped_->add(*text.schema, keyword_of(text.kind));
    return known->second ? &*known->second : nullptr;
}

} // namespace etna::grammar
