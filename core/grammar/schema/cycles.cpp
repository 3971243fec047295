#include "core/grammar/schema/cycles.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace etna::grammar {

/// Finds the strongly connected components of claims.
class Cycles::Search {
public:
    Search(const std::unordered_set<uint64_t>& known, const Followers& followers)
        : known_(&known), followers_(&followers) {}

    std::optional<Claim> from(const Claim& start) {
        meet(start);
        while (!path_.empty()) {
            if (path_.back().at < path_.back().followers.size()) {
                const Claim next = path_.back().followers[path_.back().at++];
                meet(next);
            } else if (auto cycle = leave()) {
                return cycle;
            }
        }
        return std::nullopt;
    }

    /// The keys of claims that lead to no such cycle.
    [[nodiscard]] const std::vector<uint64_t>& done() const { return done_; }

private:
    struct Visit {
        Claim claim;
        std::size_t number;
        std::size_t lowest; ///< lowest number on the path that it leads to
        bool leads_to_itself = false;
        Claims followers = {};
        std::size_t at = 0;
    };
    static constexpr std::size_t closed = SIZE_MAX;

    void meet(const Claim& claim) {
        if (claim.value == nullptr || known_->contains(claim.key()))
            return;
        const auto [entry, is_new] = numbers_.try_emplace(claim.key(), numbers_.size());
        const std::size_t number = entry->second;
        if (is_new) {
            open_.push_back(claim);
            path_.push_back({.claim = claim, .number = number, .lowest = number});
            Claims followers = (*followers_)(claim);
            path_.back().followers = std::move(followers);
        } else if (number != closed) {
            Visit& from = path_.back();
            from.lowest = std::min(from.lowest, number);
            from.leads_to_itself = from.leads_to_itself || from.number == number;
        }
    }

    /// Ends a visit; the last one of a component closes it.
    std::optional<Claim> leave() {
        const Visit visit = std::move(path_.back());
        path_.pop_back();
        if (!path_.empty())
            path_.back().lowest = std::min(path_.back().lowest, visit.lowest);
        if (visit.lowest < visit.number)
            return std::nullopt;
        const auto first = std::find(open_.rbegin(), open_.rend(), visit.claim).base() - 1;
        const bool is_cycle = open_.end() - first > 1 || visit.leads_to_itself;
        const auto negated =
            std::find_if(first, open_.end(), [](const Claim& claim) { return claim.is_negated; });
        if (is_cycle && negated != open_.end())
            return *negated;
        for (auto claim = first; claim != open_.end(); ++claim) {
            numbers_[claim->key()] = closed;
            done_.push_back(claim->key());
        }
        open_.erase(first, open_.end());
        return std::nullopt;
    }

    const std::unordered_set<uint64_t>* known_;
    const Followers* followers_;
    std::unordered_map<uint64_t, std::size_t> numbers_; ///< in the order of discovery
    std::vector<Visit> path_;
    std::vector<Claim> open_; ///< discovered, and not in a closed component
    std::vector<uint64_t> done_;
};

std::optional<Claim> Cycles::negated(const Claims& claims, const Followers& followers) {
    for (const Claim& claim : claims) {
        if (claim.value == nullptr || known_.contains(claim.key()))
            continue;
        Search search(known_, followers);
        if (auto cycle = search.from(claim))
            return cycle;
        known_.insert(search.done().begin(), search.done().end());
    }
    return std::nullopt;
}

} // namespace etna::grammar
