#include "core/grammar/schema/json_schema.hpp"

#include "core/grammar/regex.hpp"
#include "core/grammar/schema/containers.hpp"
#include "core/grammar/schema/expansion.hpp"
#include "core/grammar/schema/tagged.hpp"

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace etna::grammar {
namespace {

/// Maximum number of claim sets in one schema.
constexpr std::size_t claim_sets_max = 20'000;

/// Makes a rule for each distinct set of claims, so that a schema may refer to itself.
class Compiler {
public:
    static Result<Expression> compile(Language& language, const SchemaDocument& document,
                                      const JsonSchemaOptions& options, DroppedKeywords& dropped) {
        Compiler compiler(language, document, options, options.is_lenient ? &dropped : nullptr);
        ETNA_CHECK(compiler.choose_root_form());
        return compiler.compile(document.root());
    }

private:
    Compiler(Language& language, const SchemaDocument& document, const JsonSchemaOptions& options,
             DroppedKeywords* dropped)
        : language_(&language), options_(&options),
          mark_(options.mark ? options.mark
                             : [&language](std::string_view text) { return language.literal(text); }),
          expansion_(document, dropped), strings_(language, document, dropped, string_form()),
          containers_{.language = language,
                      .document = document,
                      .strings = strings_,
                      .space = json_space(language, spacing()),
                      .value_of = [this](const Claims& claims) { return value_of(claims); },
                      .scalars_of = [this](const Claims& claims) { return scalars_of(claims); },
                      .names_of = [this](const Claims& claims) { return names_of(claims); },
                      .dropped = dropped},
          objects_{
              .open = language.sequence(language.literal("{"), containers_.space),
              .comma = language.sequence(language.literal(","), containers_.space),
              .end = containers_.space,
              .close = language.literal("}"),
              .member = [this](const MemberName& name,
                               const Claims& claims) { return Result<Expression>(member(name, claims)); }},
          root_(objects_) {}
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;

    [[nodiscard]] Form form() const { return options_->writing.form; }
    [[nodiscard]] JsonSpacing spacing() const {
        return form() == Form::dictionary ? JsonSpacing::none : options_->spacing;
    }

    [[nodiscard]] StringForm string_form() const {
        const Writing& writing = options_->writing;
        if (writing.form != Form::dictionary) {
            const Expression quote = language_->literal("\"");
            return {.open = quote, .close = quote, .without = writing.not_in_strings};
        }
        StringForm form = {.escapes = StringForm::Escapes::none,
                           .open = mark_(writing.string_mark),
                           .close = mark_(writing.string_mark),
                           .without = writing.not_in_strings};
        form.without.push_back(writing.string_mark);
        return form;
    }

    Status choose_root_form() {
        if (form() == Form::dictionary) {
            ETNA_TRY(objects_.names, plain_names(*language_));
            root_ = objects_;
        } else if (form() == Form::keywords) {
            const Expression comma =
                language_->sequence(language_->literal(","), language_->optional(language_->literal(" ")));
            root_ = {.open = empty, .comma = comma, .end = empty, .close = empty, .member = objects_.member};
            root_.member = [this](const MemberName& name, const Claims& claims) -> Result<Expression> {
                return language_->sequence(std::array{name.text, language_->literal("="), value_of(claims)});
            };
            ETNA_TRY(root_.names, python_names(*language_));
        } else if (form() == Form::tagged) {
            ETNA_TRY(tagged_, TaggedMembers::create(*language_, containers_.document, containers_.dropped,
                                                    options_->writing, mark_, tagged_values()));
            root_ = {.open = empty, .comma = empty, .end = empty, .close = empty, .member = {}};
            root_.has_others = tagged_->has_others();
            root_.member = [this](const MemberName& name, const Claims& claims) {
                return tagged_->member(name, claims);
            };
            ETNA_TRY(root_.names, plain_names(*language_));
        }
        return {};
    }

    TaggedMembers::Values tagged_values() {
        return {.strings = [this](const Claims& claims,
                                  SchemaStrings& strings) { return strings_of(claims, strings); },
                .json = [this](const Claims& claims, JsonKinds kinds) { return values(claims, kinds); }};
    }

    Result<Expression> compile(const JsonValue& root) {
        const bool is_object = options_->root == Root::object || form() != Form::json;
        const Claims claims = {{.value = &root}};
        ETNA_TRY(const Expression start,
                 is_object ? root_objects(claims) : Result<Expression>(value_of(claims)));
        while (!open_.empty()) {
            const auto next = open_.back();
            open_.pop_back();
            ETNA_TRY(const Expression all, values(next->first, json_any));
            language_->define(next->second, all);
            ETNA_CHECK(language_->check());
            if (rules_.size() > claim_sets_max) {
                return Error{ErrorKind::unsupported, "the schema is too large to be enforced",
                             "use fewer or smaller alternatives"};
            }
        }
        return language_->seal(start);
    }

    Result<Expression> root_objects(const Claims& claims) {
        ETNA_TRY(const std::vector<Constraints> alternatives, expansion_.alternatives(sorted(claims)));
        std::vector<Expression> all;
        for (const Constraints& alternative : alternatives) {
            if ((alternative.kinds & json_object) == 0)
                continue;
            ETNA_TRY(const Expression one, object_expression(containers_, root_, alternative.object));
            all.push_back(one);
        }
        return language_->either(all);
    }

    /// A member of an object, in JSON or Form::dictionary.
    Expression member(const MemberName& name, const Claims& claims) {
        if (form() == Form::dictionary)
            return language_->sequence(std::array{name.text, language_->literal(":"), value_of(claims)});
        const Expression quote = language_->literal("\"");
        const Expression quoted = name.only == nullptr
                                      ? strings_.quoted(name.text)
                                      : language_->sequence(std::array{quote, name.text, quote});
        return language_->sequence(std::array{quoted, language_->literal(":"),
                                              json_space_after_colon(*language_, options_->spacing),
                                              value_of(claims)});
    }

    using Rules = std::map<Claims, Expression>;

    Expression value_of(const Claims& claims) {
        const auto [entry, is_new] = rules_.try_emplace(sorted(claims), nothing);
        if (is_new) {
            entry->second = language_->rule("value");
            open_.push_back(entry);
        }
        return entry->second;
    }

    Result<Expression> values(const Claims& claims, JsonKinds kinds) {
        ETNA_TRY(std::vector<Constraints> alternatives, expansion_.alternatives(claims));
        std::vector<Expression> all;
        for (Constraints& alternative : alternatives) {
            alternative.kinds &= kinds;
            ETNA_TRY(const Expression one, values(alternative));
            all.push_back(one);
        }
        return language_->either(all);
    }

    Result<Expression> strings_of(const Claims& claims, SchemaStrings& strings) {
        ETNA_TRY(const std::vector<Constraints> alternatives, expansion_.alternatives(claims));
        std::vector<Expression> all;
        for (const Constraints& alternative : alternatives) {
            if ((alternative.kinds & json_string) == 0)
                continue;
            ETNA_TRY(const Expression one, strings.quoted(alternative.string));
            all.push_back(one);
        }
        return language_->either(all);
    }

    /// Parsers of other forms accept Python's words too.
    [[nodiscard]] Expression word(JsonKinds kind) const {
        const std::string_view json = kind == json_null ? "null" : kind == json_false ? "false" : "true";
        if (form() == Form::json)
            return language_->literal(json);
        const std::string_view python = kind == json_null ? "None" : kind == json_false ? "False" : "True";
        return language_->either(language_->literal(json), language_->literal(python));
    }

    Result<Expression> values(const Constraints& alternative) {
        std::vector<Expression> all;
        for (const JsonKinds kind : {json_null, json_false, json_true}) {
            if ((alternative.kinds & kind) != 0)
                all.push_back(word(kind));
        }
        if ((alternative.kinds & json_number_kinds) != 0) {
            ETNA_TRY(const Expression numbers, numbers(alternative));
            all.push_back(numbers);
        }
        if ((alternative.kinds & json_string) != 0) {
            ETNA_TRY(const Expression strings, strings_.quoted(alternative.string));
            all.push_back(strings);
        }
        if ((alternative.kinds & json_array) != 0) {
            ETNA_TRY(const Expression arrays, array_expression(containers_, alternative.array));
            all.push_back(arrays);
        }
        if ((alternative.kinds & json_object) != 0) {
            ETNA_TRY(const Expression objects, object_expression(containers_, objects_, alternative.object));
            all.push_back(objects);
        }
        return language_->either(all);
    }

    Result<Expression> numbers(const Constraints& alternative) {
        auto made = json_number(*language_, number_set(alternative));
        if (made || alternative.number.divisors.empty())
            return made;
        const Error& error = made.error();
        if (containers_.dropped == nullptr || error.kind != ErrorKind::unsupported) {
            return containers_.document.error(error.kind, *alternative.number.divisors[0].schema,
                                              "multipleOf", error.message, error.hint);
        }
        NumberSet others = number_set(alternative);
        others.multiples_of.clear();
        for (const NumberConstraints::Divisor& divisor : alternative.number.divisors)
            containers_.dropped->add(*divisor.schema, "multipleOf");
        return json_number(*language_, others);
    }

    static NumberSet number_set(const Constraints& alternative) {
        NumberSet set = {.lower = alternative.number.lower, .upper = alternative.number.upper};
        if ((alternative.kinds & json_number_kinds) != json_number_kinds)
            set.kind = (alternative.kinds & json_integer) != 0 ? NumberKind::integer : NumberKind::fraction;
        for (const NumberConstraints::Divisor& divisor : alternative.number.divisors)
            set.multiples_of.push_back(divisor.value);
        return set;
    }

    Result<std::optional<Expression>> scalars_of(const Claims& claims) {
        ETNA_TRY(const std::vector<Constraints> alternatives, expansion_.alternatives(claims));
        constexpr JsonKinds words = json_null | json_false | json_true;
        std::vector<Expression> all;
        for (const Constraints& alternative : alternatives) {
            const bool has_others =
                (alternative.kinds & (json_array | json_object)) != 0 ||
                (form() != Form::json && (alternative.kinds & words) != 0) ||
                ((alternative.kinds & json_string) != 0 && grammar_of(alternative.string) != nullptr);
            if (has_others)
                return std::optional<Expression>();
            Constraints others = alternative;
            others.kinds &= static_cast<JsonKinds>(~json_number_kinds);
            ETNA_TRY(const Expression one, values(others));
            all.push_back(one);
            if ((alternative.kinds & json_number_kinds) != 0) {
                ETNA_TRY(const Expression numbers, canonical_numbers(alternative));
                all.push_back(numbers);
            }
        }
        return std::optional(language_->either(all));
    }

    /// Numbers without exponent and trailing zeros.
    Result<Expression> canonical_numbers(const Constraints& alternative) {
        ETNA_TRY(const Expression numbers, numbers(alternative));
        const Alphabet alphabet = [this](const CodePoints& set) { return utf8(*language_, set); };
        ETNA_TRY(const Expression plain,
                 regex(*language_, R"(-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?)", alphabet, MatchMode::full));
        ETNA_TRY(const Automaton all, language_->automaton(numbers));
        ETNA_TRY(const Automaton canonical, language_->automaton(plain));
        ETNA_TRY(const Automaton both, language_->both(all, canonical));
        return language_->accepted(both);
    }

    /// Only the strings, because names are strings.
    Result<Automaton> names_of(const Claims& claims) {
        ETNA_TRY(const std::vector<Constraints> alternatives, expansion_.alternatives(claims));
        std::vector<Expression> all;
        for (const Constraints& alternative : alternatives) {
            if ((alternative.kinds & json_string) == 0)
                continue;
            ETNA_TRY(const Automaton names, strings_.automaton(alternative.string));
            all.push_back(language_->accepted(names));
        }
        return language_->automaton(language_->either(all));
    }

    Language* language_;
    const JsonSchemaOptions* options_;
    MarkWriter mark_;
    Expansion expansion_;
    SchemaStrings strings_;
    ContainerContext containers_;
    ObjectForm objects_;
    ObjectForm root_;
    std::optional<TaggedMembers> tagged_;
    Rules rules_;
    std::vector<Rules::iterator> open_;
};

} // namespace

Result<Expression> json_schema(Language& language, std::string_view schema, const JsonSchemaOptions& options,
                               std::vector<std::string>* dropped) {
    ETNA_TRY(JsonValue root, parse_json(schema));
    const SchemaDocument document(std::move(root));
    DroppedKeywords keywords(document);
    ETNA_TRY(const Expression texts, Compiler::compile(language, document, options, keywords));
    if (dropped != nullptr)
        *dropped = keywords.pointers();
    return texts;
}

} // namespace etna::grammar
