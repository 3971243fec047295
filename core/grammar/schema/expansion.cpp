#include "core/grammar/schema/expansion.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// How deep to look into members and items for what cannot be.
constexpr int impossible_depth_max = 4;

} // namespace

Claims sorted(Claims claims) {
    std::sort(claims.begin(), claims.end());
    claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
    std::erase(claims, Claim{}); // any value
    return claims;
}

Claims claims_on_item(const ArrayConstraints& array, std::size_t position) {
    Claims claims;
    for (const ArrayConstraints::Items& items : array.items)
        claims.push_back(position < items.first.size() ? items.first[position] : items.rest);
    return sorted(std::move(claims));
}

Expansion::Expansion(const SchemaDocument& document, bool is_lenient)
    : context_{.document = document, .is_lenient = is_lenient, .is_impossible = [this](const Claims& claims) {
                   return is_impossible(claims);
               }} {}

Result<const Choices*> Expansion::choices(const Claim& claim) {
    const auto known = choices_.find(claim);
    if (known != choices_.end())
        return &known->second;
    ETNA_TRY(Choices found, choices_of(context_, claim));
    return &choices_.emplace(claim, std::move(found)).first->second;
}

/// Follows all claims that leave no choice, and notes the choices. A claim that leads to itself adds nothing.
Status Expansion::settle(Branch& branch) {
    while (!branch.open.empty() && branch.constraints.kinds != 0) {
        const Claim claim = branch.open.back();
        branch.open.pop_back();
        const auto place = std::lower_bound(branch.seen.begin(), branch.seen.end(), claim);
        if (place != branch.seen.end() && *place == claim)
            continue;
        branch.seen.insert(place, claim);
        if (++steps_ > steps_max) {
            return Error{ErrorKind::unsupported, "the schema's alternatives take too long to join",
                         "use fewer `anyOf`, `oneOf` and `not` within each other"};
        }
        ETNA_TRY(const Choices* const all, choices(claim));
        for (const Alternatives& any : *all) {
            if (any.size() == 1) {
                branch.constraints.join(any[0].constraints);
                branch.open.insert(branch.open.end(), any[0].claims.begin(), any[0].claims.end());
            } else {
                branch.choices.push_back(&any);
            }
        }
    }
    return {};
}

Status Expansion::walk(Branch branch, std::vector<Constraints>& found) {
    ETNA_CHECK(settle(branch));
    if (branch.constraints.kinds == 0)
        return {};
    if (branch.choices.empty()) {
        if (found.size() == ways_max) {
            return Error{ErrorKind::unsupported,
                         fmt::format("the schema's alternatives make more than {} combinations", ways_max),
                         "use fewer `anyOf`, `oneOf` and `not` beside each other"};
        }
        found.push_back(std::move(branch.constraints));
        return {};
    }
    const Alternatives* const choice = branch.choices.back();
    branch.choices.pop_back();
    for (const Alternative& one : *choice) {
        Branch chosen = branch;
        chosen.constraints.join(one.constraints);
        chosen.open = one.claims;
        ETNA_CHECK(walk(std::move(chosen), found));
    }
    return {};
}

Result<std::vector<Constraints>> Expansion::ways(const Claims& claims) {
    std::vector<Constraints> found;
    ETNA_CHECK(walk({.open = claims}, found));
    return found;
}

bool Expansion::is_impossible(const Claims& claims) {
    if (depth_ == impossible_depth_max)
        return false;
    const auto [place, is_new] = impossible_.emplace(sorted(claims), false);
    if (!is_new)
        return place->second;
    ++depth_;
    const auto all = ways(place->first);
    const bool result = all && std::all_of(all->begin(), all->end(),
                                           [this](const Constraints& way) { return is_impossible(way); });
    --depth_;
    return place->second = result;
}

bool Expansion::is_impossible(const Constraints& way) {
    constexpr JsonKinds simple = json_any & ~(json_array | json_object);
    if ((way.kinds & simple) != 0)
        return false;
    return ((way.kinds & json_array) == 0 || has_impossible_item(way.array)) &&
           ((way.kinds & json_object) == 0 || has_impossible_member(way.object));
}

bool Expansion::has_impossible_item(const ArrayConstraints& array) {
    constexpr uint32_t looked_at_max = 16;
    for (uint32_t i = 0; i < std::min(array.count.least, looked_at_max); ++i) {
        if (is_impossible(claims_on_item(array, i)))
            return true;
    }
    return false;
}

/// Claims by patterns, which may only add to it, are left out; so are others' claims on names that a pattern
/// may match.
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
