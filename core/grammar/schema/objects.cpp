#include "core/grammar/schema/containers.hpp"
#include "core/grammar/schema/expansion.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {
namespace {

/// Maximum number of states (names times counts) of an object.
constexpr std::size_t member_states_max = 100'000;
/// Maximum number of name sets that patterns may partition all names into.
constexpr std::size_t name_sets_max = 64;

using Members = ObjectConstraints::Members;
using Named = ObjectConstraints::Named;

/// A listed member.
struct NamedMember {
    Expression written;
    bool is_required;
};

class ObjectWriter {
public:
    ObjectWriter(const ContainerContext& context, const ObjectForm& form, const ObjectConstraints& object)
        : context_(&context), language_(&context.language), form_(&form), object_(&object) {}

    Result<Expression> write() {
        allowed_names_ = form_->names;
        if (!object_->names.empty()) {
            ETNA_TRY(const Automaton named, context_->names_of(object_->names));
            ETNA_TRY(allowed_names_,
                     allowed_names_ ? language_->both(*allowed_names_, named) : Result<Automaton>(named));
        }
        ETNA_CHECK(collect_named());
        if (is_impossible_)
            return nothing;
        if (form_->has_others) {
            ETNA_CHECK(collect_others());
        }
        ETNA_CHECK(check_counts());
        ETNA_TRY(const Expression written, members());
        return language_->sequence(std::array{form_->open, written, form_->close});
    }

private:
    /// Names in the order of the schemas, then those that are only required or absent.
    [[nodiscard]] std::vector<std::string> all_names() const {
        std::vector<std::string> names;
        std::set<std::string_view> known;
        const auto add = [&](const std::string& name) {
            if (known.insert(name).second)
                names.push_back(name);
        };
        for (const Members& members : object_->members) {
            for (const Named& named : members.named)
                add(named.first);
        }
        std::for_each(object_->required.begin(), object_->required.end(), add);
        std::for_each(object_->absent.begin(), object_->absent.end(), add);
        return names;
    }

    Status collect_named() {
        const std::set<std::string_view> required(object_->required.begin(), object_->required.end());
        const std::set<std::string_view> absent(object_->absent.begin(), object_->absent.end());
        names_ = all_names();
        note_claims();
        for (const std::string& name : names_) {
            const auto text = context_->strings.written(name);
            const bool is_required = required.count(name) > 0;
            if (absent.count(name) > 0 || !text || (allowed_names_ && !accepts(*allowed_names_, *text))) {
                is_impossible_ = is_impossible_ || is_required;
                continue;
            }
            ETNA_TRY(const Claims claims, claims_on(name, *text));
            ETNA_TRY(const Expression written,
                     form_->member({.text = language_->literal(*text), .only = &name}, claims));
            named_.push_back({.written = written, .is_required = is_required});
        }
        return {};
    }

    /// Indexes the claims by name, and the schemas with claims on unlisted names.
    void note_claims() {
        for (const Members& members : object_->members) {
            for (const Named& named : members.named)
                by_name_[named.first].emplace_back(&members, named.second);
            if (!members.patterns.empty() || members.others != Claim{})
                of_all_names_.push_back(&members);
        }
    }

    /// The claims on a member: by its name, by the patterns that it matches, or as one of the others.
    Result<Claims> claims_on(const std::string& name, const std::string& text) {
        ETNA_CHECK(language_->check());
        Claims claims;
        std::set<const Members*> naming;
        if (const auto found = by_name_.find(name); found != by_name_.end()) {
            for (const auto& [members, claim] : found->second) {
                claims.push_back(claim);
                naming.insert(members);
            }
        }
        for (const Members* const one : of_all_names_) {
            const Members& members = *one;
            bool is_known = naming.contains(one);
            for (const Named& pattern : members.patterns) {
                ETNA_TRY(const Automaton* const names, matching(pattern.first, members));
                if (accepts(*names, text)) {
                    claims.push_back(pattern.second);
                    is_known = true;
                }
            }
            if (!is_known)
                claims.push_back(members.others);
        }
        return sorted(std::move(claims));
    }

    Result<const Automaton*> matching(const std::string& pattern, const Members& members) {
        return context_->strings.matching(
            {.kind = StringConstraints::Text::Kind::name_pattern, .text = pattern, .schema = members.schema});
    }

    /// Names that match the same patterns.
    struct NameSet {
        Automaton names;
        std::set<std::string_view> patterns = {};
    };

    Status collect_others() {
        ETNA_TRY(const Expression other_names, context_->strings.all_but(names_));
        const bool has_patterns =
            std::any_of(object_->members.begin(), object_->members.end(),
                        [](const Members& members) { return !members.patterns.empty(); });
        if (!has_patterns && !allowed_names_) {
            return add_others(other_names, {});
        }
        ETNA_TRY(std::vector<NameSet> sets, name_sets(other_names));
        for (const NameSet& set : sets) {
            ETNA_CHECK(add_others(language_->accepted(set.names), set.patterns));
        }
        return {};
    }

    Result<std::vector<NameSet>> name_sets(Expression other_names) {
        ETNA_TRY(Automaton all, language_->automaton(other_names));
        if (allowed_names_) {
            ETNA_TRY(all, language_->both(all, *allowed_names_));
        }
        std::vector<NameSet> sets = {{.names = std::move(all)}};
        std::set<std::string_view> known;
        for (const Members& members : object_->members) {
            for (const Named& pattern : members.patterns) {
                if (!known.insert(pattern.first).second)
                    continue;
                ETNA_TRY(const Automaton* const names, matching(pattern.first, members));
                ETNA_TRY(sets, cut(sets, *names, pattern.first));
            }
        }
        return sets;
    }

    Result<std::vector<NameSet>> cut(const std::vector<NameSet>& sets, const Automaton& names,
                                     std::string_view pattern) {
        ETNA_TRY(const Automaton others, language_->all_but(names));
        std::vector<NameSet> finer;
        for (const NameSet& set : sets) {
            NameSet with = {.names = {}, .patterns = set.patterns};
            with.patterns.insert(pattern);
            ETNA_TRY(with.names, language_->both(set.names, names));
            NameSet without = {.names = {}, .patterns = set.patterns};
            ETNA_TRY(without.names, language_->both(set.names, others));
            for (NameSet* part : {&with, &without}) {
                if (part->names.state_count() > 0)
                    finer.push_back(std::move(*part));
            }
        }
        if (finer.size() > name_sets_max) {
            return Error{ErrorKind::unsupported, "`patternProperties` has too many patterns that overlap",
                         "use fewer of them"};
        }
        return finer;
    }

    Status add_others(Expression names, const std::set<std::string_view>& patterns) {
        Claims claims;
        for (const Members& members : object_->members) {
            bool is_known = false;
            for (const Named& pattern : members.patterns) {
                if (patterns.count(pattern.first) > 0) {
                    claims.push_back(pattern.second);
                    is_known = true;
                }
            }
            if (!is_known)
                claims.push_back(members.others);
        }
        claims = sorted(std::move(claims));
        const bool is_excluded = std::any_of(claims.begin(), claims.end(), [](const Claim& claim) {
            return claim == Claim::nothing() ||
                   (claim.value->kind == JsonValue::Kind::boolean && claim.kind == Claim::Kind::schema &&
                    claim.value->truth == claim.is_negated);
        });
        if (is_excluded)
            return {};
        ETNA_TRY(const Expression written, form_->member({.text = names}, claims));
        other_ = language_->either(other_, written);
        return {};
    }

    /// Two unlisted members could have the same name, and count as one.
    Status check_counts() const {
        const CountRange& count = object_->count;
        const std::size_t counted = std::max(count.min, count.max == unbounded ? 0 : count.max);
        if (named_.size() * std::min(named_.size(), counted) > member_states_max) {
            return Error{ErrorKind::unsupported, "an object has too many named members for counts",
                         "leave out `minProperties` and `maxProperties`"};
        }
        const auto required = static_cast<uint32_t>(object_->required.size());
        const uint32_t max_others = 1;
        if (other_ == nothing || count.min <= required + max_others)
            return {};
        const auto with_schema =
            std::find_if(object_->members.begin(), object_->members.end(),
                         [](const Members& members) { return members.schema != nullptr; });
        const JsonValue& schema =
            with_schema == object_->members.end() ? context_->document.root() : *with_schema->schema;
        if (context_->dropped != nullptr) {
            context_->dropped->add(schema, "minProperties");
            return {};
        }
        return context_->document.error(
            ErrorKind::unsupported, schema, "minProperties",
            "several members that the schema does not name cannot be distinguished",
            "name them in `properties`, forbid others (`\"additionalProperties\": false`), or leave it out");
    }

    /// Built from the last member to the first, for each number of members before it that makes a difference.
    Result<Expression> members() {
        const CountRange& count = object_->count;
        const std::size_t last = std::min<std::size_t>(
            named_.size(), std::max<std::size_t>({1, count.min, count.max == unbounded ? 0 : count.max}));
        std::vector<Expression> rest;
        for (std::size_t before = 0; before <= last; ++before)
            rest.push_back(others_after(static_cast<uint32_t>(before)));
        for (auto member = named_.rbegin(); member != named_.rend(); ++member) {
            std::vector<Expression> with_it;
            for (std::size_t before = 0; before <= last; ++before) {
                const Expression here = language_->sequence(
                    std::array{comma_after(before), member->written, rest[std::min(before + 1, last)]});
                const bool is_allowed = before < count.max;
                with_it.push_back(language_->either(is_allowed ? here : nothing,
                                                    member->is_required ? nothing : rest[before]));
            }
            rest = std::move(with_it);
            ETNA_CHECK(language_->check());
        }
        return rest[0];
    }

    [[nodiscard]] Expression comma_after(std::size_t members) const {
        return members == 0 ? empty : form_->comma;
    }

    /// The unlisted members, after `before` listed ones.
    [[nodiscard]] Expression others_after(uint32_t before) const {
        const uint32_t min = object_->count.min - std::min(object_->count.min, before);
        const uint32_t max = object_->count.max == unbounded
                                 ? unbounded
                                 : object_->count.max - std::min(object_->count.max, before);
        const Expression more = language_->sequence(comma_after(1), other_);
        if (before > 0)
            return language_->sequence(language_->repeat(more, min, max), form_->end);
        const auto less_one = [](uint32_t count) {
            return count == unbounded || count == 0 ? count : count - 1;
        };
        const Expression some =
            max == 0 ? nothing
                     : language_->sequence(std::array{
                           other_, language_->repeat(more, less_one(min), less_one(max)), form_->end});
        return language_->either(some, min == 0 ? empty : nothing);
    }

    const ContainerContext* context_;
    Language* language_;
    const ObjectForm* form_;
    const ObjectConstraints* object_;
    std::optional<Automaton> allowed_names_;
    std::vector<std::string> names_;
    std::map<std::string_view, std::vector<std::pair<const Members*, Claim>>> by_name_;
    std::vector<const Members*> of_all_names_; ///< schemas with claims on unlisted names
    std::vector<NamedMember> named_;
    Expression other_ = nothing; ///< any unlisted member
    bool is_impossible_ = false;
};

} // namespace

Result<Expression> object_expression(const ContainerContext& context, const ObjectForm& form,
                                     const ObjectConstraints& constraints) {
    return ObjectWriter(context, form, constraints).write();
}

} // namespace etna::grammar
