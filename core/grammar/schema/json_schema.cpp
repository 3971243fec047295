#include "core/grammar/schema/json_schema.hpp"

#include "core/grammar/schema/containers_private.hpp"
#include "core/grammar/schema/expansion.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Sets of claims that one schema may make of its parts.
constexpr std::size_t claim_sets_max = 20'000;

/// Makes a rule for each set of claims that is met, so that a schema may refer to itself.
class Compiler {
public:
    Compiler(Language& language, const SchemaDocument& document, const JsonSchemaOptions& options)
        : language_(&language), expansion_(document, options.is_lenient),
          strings_(language, document, options.is_lenient),
          containers_{.language = language,
                      .document = document,
                      .strings = strings_,
                      .space = space(language, options.spacing),
                      .space_after_colon = options.spacing == JsonSpacing::none
                                               ? empty
                                               : language.optional(language.literal(" ")),
                      .value_of = [this](const Claims& claims) { return value_of(claims); },
                      .names_of = [this](const Claims& claims) { return names_of(claims); },
                      .is_lenient = options.is_lenient} {}

    Result<Expression> compile(const JsonValue& root) {
        const Expression start = value_of({{.value = &root}});
        while (!open_.empty()) {
            const auto next = open_.back();
            open_.pop_back();
            ETNA_TRY(const Expression values, values(next->first));
            language_->define(next->second, values);
            if (rules_.size() > claim_sets_max || language_->is_full()) {
                return Error{ErrorKind::unsupported, "the schema is too large to be enforced",
                             "use fewer or smaller alternatives"};
            }
        }
        return language_->seal(start);
    }

private:
    using Rules = std::map<Claims, Expression>;

    static Expression space(Language& language, JsonSpacing spacing) {
        if (spacing == JsonSpacing::none)
            return empty;
        ByteSet blank = ByteSet::one(' ');
        blank |= ByteSet::one('\t');
        const Expression indentation = language.repeat(language.bytes(blank), 0, json_indentation_max);
        return language.either(
            std::array{empty, language.literal(" "), language.sequence(language.literal("\n"), indentation)});
    }

    Expression value_of(const Claims& claims) {
        const auto [place, is_new] = rules_.try_emplace(sorted(claims), nothing);
        if (is_new) {
            place->second = language_->rule("value");
            open_.push_back(place);
        }
        return place->second;
    }

    Result<Expression> values(const Claims& claims) {
        ETNA_TRY(const std::vector<Constraints> ways, expansion_.ways(claims));
        std::vector<Expression> all;
        for (const Constraints& way : ways) {
            ETNA_TRY(const Expression one, values(way));
            all.push_back(one);
        }
        return language_->either(all);
    }

    Result<Expression> values(const Constraints& way) {
        std::vector<Expression> all;
        constexpr std::array<std::pair<JsonKinds, std::string_view>, 3> words = {
            {{json_null, "null"}, {json_false, "false"}, {json_true, "true"}}};
        for (const auto& [kind, word] : words) {
            if ((way.kinds & kind) != 0)
                all.push_back(language_->literal(word));
        }
        if ((way.kinds & json_number_kinds) != 0) {
            ETNA_TRY(const Expression numbers, numbers(way));
            all.push_back(numbers);
        }
        if ((way.kinds & json_string) != 0) {
            ETNA_TRY(const Expression strings, strings_.quoted(way.string));
            all.push_back(strings);
        }
        if ((way.kinds & json_array) != 0) {
            ETNA_TRY(const Expression arrays, array_expression(containers_, way.array));
            all.push_back(arrays);
        }
        if ((way.kinds & json_object) != 0) {
            ETNA_TRY(const Expression objects, object_expression(containers_, way.object));
            all.push_back(objects);
        }
        return language_->either(all);
    }

    Result<Expression> numbers(const Constraints& way) {
        auto made = json_number(*language_, number_set(way));
        if (made || way.number.divisors.empty())
            return made;
        const Error& error = made.error();
        return containers_.document.error(error.kind, *way.number.divisors[0].schema, "multipleOf",
                                          error.message, error.hint);
    }

    static NumberSet number_set(const Constraints& way) {
        NumberSet set = {.least = way.number.least, .most = way.number.most};
        if ((way.kinds & json_number_kinds) != json_number_kinds)
            set.kind = (way.kinds & json_integer) != 0 ? NumberKind::integer : NumberKind::fraction;
        for (const NumberConstraints::Divisor& divisor : way.number.divisors)
            (divisor.is_negated ? set.no_multiples_of : set.multiples_of).push_back(divisor.value);
        return set;
    }

    /// Strings alone: names are nothing else.
    Result<Automaton> names_of(const Claims& claims) {
        ETNA_TRY(const std::vector<Constraints> ways, expansion_.ways(claims));
        std::vector<Expression> all;
        for (const Constraints& way : ways) {
            if ((way.kinds & json_string) == 0)
                continue;
            ETNA_TRY(const Automaton names, strings_.automaton(way.string));
            all.push_back(language_->accepted(names));
        }
        return language_->automaton(language_->either(all));
    }

    Language* language_;
    Expansion expansion_;
    JsonStrings strings_;
    ContainerContext containers_;
    Rules rules_;
    std::vector<Rules::iterator> open_;
};

} // namespace

Result<Expression> json_schema(Language& language, std::string_view schema,
                               const JsonSchemaOptions& options) {
    ETNA_TRY(JsonValue root, parse_json(schema));
    const SchemaDocument document(std::move(root));
    return Compiler(language, document, options).compile(document.root());
}

} // namespace etna::grammar
