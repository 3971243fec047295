#include "core/grammar/schema/expansion.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// How deep is_impossible() searches members and items.
constexpr int impossible_depth_max = 4;

/// Costs: steps per claim, values joined per step, bytes copied per step.
constexpr std::size_t steps_of_claim = 20;
constexpr std::size_t values_in_step = 8;
constexpr std::size_t bytes_in_step = 32;

} // namespace

Claims sorted(Claims claims) {
    std::sort(claims.begin(), claims.end());
    claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
    std::erase(claims, Claim{}); // matches any value
    return claims;
}

Claims claims_on_item(const ArrayConstraints& array, std::size_t position) {
    Claims claims;
    for (const ArrayConstraints::Items& items : array.items)
        claims.push_back(position < items.first.size() ? items.first[position] : items.rest);
    return sorted(std::move(claims));
}

Expansion::Expansion(const SchemaDocument& document, DroppedKeywords* dropped)
    : context_{.document = document, .dropped = dropped, .is_impossible = [this](const Claims& claims) {
                   return is_impossible(claims);
               }} {}

Result<const Choices*> Expansion::choices(const Claim& claim) {
    const auto known = choices_.find(claim);
    if (known != choices_.end())
        return &known->second;
    ETNA_TRY(Choices found, choices_of(context_, claim));
    return &choices_.emplace(claim, std::move(found)).first->second;
}

/// The claims on the same value that this claim may lead to.
Claims Expansion::followers(const Claim& claim) {
    Claims all;
    const auto found = choices(claim);
    if (!found) // reported when the claim is expanded
        return all;
    for (const Alternatives& any : **found) {
        for (const Alternative& one : any)
            all.insert(all.end(), one.claims.begin(), one.claims.end());
    }
    return all;
}

Status Expansion::check_cycles(const Claims& claims) {
    const auto cycle = cycles_.negated(claims, [this](const Claim& claim) { return followers(claim); });
    if (!cycle)
        return {};
    return Error{ErrorKind::unsupported,
                 fmt::format("{}: the schema is defined by its own opposite, through `not`, `oneOf` or `if`",
                             context_.document.pointer(*cycle->value)),
                 "move the reference that leads back out of them"};
}

Status Expansion::charge_steps(std::size_t count) {
    steps_ += count;
    if (steps_ <= steps_max)
        return {};
    return Error{ErrorKind::unsupported, "the schema's alternatives take too long to join",
                 "use fewer `anyOf`, `oneOf` and `not` within each other"};
}

/// Enumerates all combinations of choices, depth first: follows one alternative of a choice, then backtracks
/// to the next. A claim is expanded once on each path; one that leads to itself adds nothing.
class Expansion::Search {
public:
    explicit Search(Expansion& expansion) : expansion_(&expansion) {}
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;
    ~Search() { expansion_->bytes_ -= bytes_; }

    Result<std::vector<Constraints>> alternatives(const Claims& claims) {
        for (const Claim& claim : claims)
            about_ = about_ == nullptr ? claim.value : about_;
        ETNA_CHECK(follow({}, {.claims = claims}));
        while (!levels_.empty()) {
            forget(levels_.back().seen);
            if (const Alternative* const one = next_alternative()) {
                ETNA_TRY(Branch branch, branch_for_next());
                ETNA_CHECK(follow(std::move(branch), *one));
            } else {
                leave();
            }
        }
        return std::move(found_);
    }

private:
    struct Branch {
        Constraints constraints = {};
        Claims open = {};                              ///< not expanded yet
        std::vector<const Alternatives*> choices = {}; ///< open choices of several alternatives
        Claims denied = {};                            ///< that cannot be negated, and must not hold
    };
    /// A choice, and the branch before it.
    struct Level {
        Branch branch;
        const Alternatives* choice;
        std::size_t bytes;
        std::size_t seen; ///< number of claims seen
        std::size_t at = 0;
    };

    [[nodiscard]] Error too_large(std::string_view what) const {
        return {ErrorKind::unsupported,
                about_ == nullptr ? fmt::format("the schema's alternatives make {}", what)
                                  : fmt::format("{}: the schema's alternatives make {}",
                                                expansion_->context_.document.pointer(*about_), what),
                "use fewer `anyOf`, `oneOf` and `not` next to each other"};
    }

    Status hold(std::size_t bytes) {
        bytes_ += bytes;
        expansion_->bytes_ += bytes;
        if (expansion_->bytes_ > bytes_max)
            return too_large(fmt::format("more than {} MiB", bytes_max >> 20));
        return {};
    }

    void release(std::size_t bytes) {
        bytes_ -= bytes;
        expansion_->bytes_ -= bytes;
    }

    /// Forgets the claims seen since.
    void forget(std::size_t seen) {
        for (; seen_in_order_.size() > seen; seen_in_order_.pop_back())
            seen_.erase(seen_in_order_.back());
    }

    void leave() {
        release(levels_.back().bytes);
        levels_.pop_back();
    }

    /// The next alternative of the last choice that may hold; or null.
    const Alternative* next_alternative() {
        Level& level = levels_.back();
        while (level.at < level.choice->size()) {
            const Alternative& one = (*level.choice)[level.at++];
            if (level.branch.constraints.kinds_with(one.constraints) != 0)
                return &one;
        }
        return nullptr;
    }

    /// A copy of the branch; for the last alternative, the branch itself.
    Result<Branch> branch_for_next() {
        Level& level = levels_.back();
        if (level.at < level.choice->size()) {
            ETNA_CHECK(expansion_->charge_steps(level.bytes / bytes_in_step));
            return level.branch;
        }
        Branch branch = std::move(level.branch);
        leave();
        return branch;
    }

    Status follow(Branch branch, const Alternative& alternative) {
        ETNA_CHECK(join(branch, alternative));
        ETNA_CHECK(settle(branch));
        if (branch.constraints.kinds == 0)
            return {};
        const std::size_t bytes =
            branch.constraints.bytes() + branch.choices.size() * sizeof(const Alternatives*);
        ETNA_CHECK(hold(bytes));
        ETNA_CHECK(expansion_->charge_steps(bytes / bytes_in_step));
        if (!branch.choices.empty()) {
            const Alternatives* const choice = branch.choices.back();
            branch.choices.pop_back();
            levels_.push_back({.branch = std::move(branch),
                               .choice = choice,
                               .bytes = bytes,
                               .seen = seen_in_order_.size()});
            return {};
        }
        for (const Claim& claim : branch.denied) {
            ETNA_CHECK(expansion_->charge_steps(steps_of_claim + bytes / bytes_in_step));
            if (!expansion_->is_impossible(branch.constraints, claim))
                return expansion_->choices(claim.negated()).error();
        }
        if (found_.size() == alternatives_max)
            return too_large(fmt::format("more than {} combinations", alternatives_max));
        found_.push_back(std::move(branch.constraints));
        return {};
    }

    Status join(Branch& branch, const Alternative& alternative) {
        const std::size_t cost = branch.constraints.cost_of_join(alternative.constraints);
        ETNA_CHECK(expansion_->charge_steps(1 + cost / values_in_step));
        branch.constraints.join(alternative.constraints);
        branch.open.insert(branch.open.end(), alternative.claims.begin(), alternative.claims.end());
        return {};
    }

    /// Follows everything that leaves no choice, and records the choices.
    Status settle(Branch& branch) {
        for (bool has_more = true; has_more && branch.constraints.kinds != 0;) {
            ETNA_CHECK(settle_claims(branch));
            ETNA_TRY(has_more, settle_choices(branch));
        }
        branch.open.clear();
        return {};
    }

    Status settle_claims(Branch& branch) {
        while (!branch.open.empty() && branch.constraints.kinds != 0) {
            const Claim claim = branch.open.back();
            branch.open.pop_back();
            if (!seen_.insert(claim.key()).second)
                continue;
            seen_in_order_.push_back(claim.key());
            ETNA_CHECK(expansion_->charge_steps(steps_of_claim));
            const auto found = expansion_->choices(claim);
            if (!found && claim.is_negated && found.error().kind == ErrorKind::unsupported) {
                branch.denied.push_back(claim.negated()); // other constraints may exclude it
                continue;
            }
            ETNA_TRY(const Choices* const all, found);
            for (const Alternatives& any : *all) {
                if (any.size() == 1) {
                    ETNA_CHECK(join(branch, any[0]));
                } else {
                    branch.choices.push_back(&any);
                }
            }
            if (branch.choices.size() > choices_max)
                return too_large(fmt::format("more than {} simultaneous choices", choices_max));
        }
        return {};
    }

    /// Resolves the choices for which the branch leaves one alternative, or none. Returns whether it resolved
    /// any.
    Result<bool> settle_choices(Branch& branch) {
        std::vector<const Alternatives*> open;
        ETNA_CHECK(expansion_->charge_steps(branch.choices.size()));
        for (const Alternatives* const choice : branch.choices) {
            const Alternative* only = nullptr;
            std::size_t count = 0;
            for (auto one = choice->begin(); one != choice->end() && count < 2; ++one) {
                if (branch.constraints.kinds_with(one->constraints) != 0) {
                    only = &*one;
                    ++count;
                }
            }
            if (count == 0)
                branch.constraints.kinds = 0;
            if (branch.constraints.kinds == 0)
                return false;
            if (count == 1) {
                ETNA_CHECK(join(branch, *only));
            } else {
                open.push_back(choice);
            }
        }
        const bool has_resolved_any = open.size() < branch.choices.size();
        branch.choices = std::move(open);
        return has_resolved_any;
    }

    Expansion* expansion_;
    const JsonValue* about_ = nullptr; ///< for errors
    std::vector<Level> levels_;
    std::unordered_set<uint64_t> seen_; ///< Claim::key()
    std::vector<uint64_t> seen_in_order_;
    std::vector<Constraints> found_;
    std::size_t bytes_ = 0; ///< held by this search
};

Result<std::vector<Constraints>> Expansion::alternatives(const Claims& claims) {
    ETNA_CHECK(check_cycles(claims));
    return Search(*this).alternatives(claims);
}

bool Expansion::is_impossible(const Claims& claims) {
    if (depth_ == impossible_depth_max || steps_ > steps_max)
        return false;
    const auto [entry, is_new] = impossible_.emplace(sorted(claims), false);
    if (!is_new)
        return entry->second;
    ++depth_;
    const auto all = alternatives(entry->first);
    const bool result = all && std::all_of(all->begin(), all->end(), [this](const Constraints& alternative) {
                            return is_impossible(alternative);
                        });
    --depth_;
    return entry->second = result;
}

/// The same for a claim in addition to `settled`.
bool Expansion::is_impossible(const Constraints& settled, const Claim& claim) {
    if (depth_ == impossible_depth_max)
        return false;
    ++depth_;
    auto all = alternatives({claim});
    const bool result = all && std::all_of(all->begin(), all->end(), [&](Constraints& alternative) {
                            alternative.join(settled);
                            return is_impossible(alternative);
                        });
    --depth_;
    return result;
}

bool Expansion::is_impossible(const Constraints& alternative) {
    constexpr JsonKinds simple = json_any & ~(json_array | json_object);
    if ((alternative.kinds & simple) != 0)
        return false;
    return ((alternative.kinds & json_array) == 0 || has_impossible_item(alternative.array)) &&
           ((alternative.kinds & json_object) == 0 || has_impossible_member(alternative.object));
}

bool Expansion::has_impossible_item(const ArrayConstraints& array) {
    constexpr uint32_t items_checked_max = 16;
    for (uint32_t i = 0; i < std::min(array.count.min, items_checked_max); ++i) {
        if (is_impossible(claims_on_item(array, i)))
            return true;
    }
    return false;
}

/// Ignores claims by pattern, which could only add claims, and claims on unlisted members if a pattern may
/// match the name.
bool Expansion::has_impossible_member(const ObjectConstraints& object) {
    return std::any_of(object.required.begin(), object.required.end(), [&](const std::string& name) {
        Claims claims;
        for (const ObjectConstraints::Members& members : object.members) {
            const auto named = std::find_if(members.named.begin(), members.named.end(),
                                            [&](const auto& one) { return one.first == name; });
            if (named != members.named.end()) {
                claims.push_back(named->second);
            } else if (members.patterns.empty()) {
                claims.push_back(members.others);
            }
        }
        return is_impossible(claims);
    });
}

} // namespace etna::grammar
