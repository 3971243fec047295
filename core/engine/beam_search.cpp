#include "core/engine/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

TokenEvent event_of(const Continuations::One& one, const Continuations& row) {
    return {.token = one.token, .logit = one.logit, .log_sum_exp = row.log_sum_exp, .top = row.top};
}

} // namespace

BeamSearch::BeamSearch(const BeamOptions& beams, Bounds bounds)
    : beams_(beams), bounds_(std::move(bounds)), groups_(beams.groups) {
    for (Group& group : groups_)
        group.live.emplace_back();
}

bool BeamSearch::is_end(TokenId token) const {
    return std::binary_search(bounds_.end_tokens.begin(), bounds_.end_tokens.end(), token);
}

/// Diverse groups need `width`, because other groups may have taken the best tokens.
uint32_t BeamSearch::continuations() const {
    const bool are_diverse = beams_.groups > 1 && beams_.diversity_penalty > 0;
    return are_diverse ? beams_.width : size();
}

const std::vector<BeamSearch::Branch>& BeamSearch::advance(std::span<const Continuations> rows) {
    branches_.clear();
    taken_.clear();
    ++length_;
    for (Group& group : groups_) {
        if (!group.is_done)
            advance(group, rows);
    }
    return branches_;
}

/// Returns the possible continuations of a group, best first. Ties: the better hypothesis, then the smaller
/// id.
std::vector<BeamSearch::Ranked> BeamSearch::ranked_continuations(const Group& group,
                                                                 std::span<const Continuations> rows) const {
    std::vector<Ranked> ranked;
    for (uint32_t from = 0; from < group.live.size(); ++from) {
        const Hypothesis& hypothesis = group.live[from];
        const Continuations& row = rows[hypothesis.number];
        for (const Continuations::One& one : row.tokens) {
            const auto taken = std::count(taken_.begin(), taken_.end(), one.token);
            const double log_probability = double{one.processed_logit} - double{row.log_sum_exp};
            ranked.push_back({.sum = hypothesis.sum + log_probability -
                                     static_cast<double>(taken) * double{beams_.diversity_penalty},
                              .from = from,
                              .continuation = &one});
        }
    }
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
        if (a.sum != b.sum)
            return a.sum > b.sum;
        return a.from != b.from ? a.from < b.from : a.continuation->token < b.continuation->token;
    });
    return ranked;
}

void BeamSearch::advance(Group& group, std::span<const Continuations> rows) {
    const std::vector<Ranked> ranked = ranked_continuations(group, rows);
    std::vector<const Ranked*> chosen;
    for (std::size_t rank = 0; rank < ranked.size() && chosen.size() < size(); ++rank) {
        const Ranked& one = ranked[rank];
        if (!is_end(one.continuation->token)) {
            chosen.push_back(&one);
        } else if (rank < size()) {
            Hypothesis ended = group.live[one.from];
            ended.sum = one.sum;
            add_complete(group, {.hypothesis = ended,
                                 .end = event_of(*one.continuation, rows[ended.number]),
                                 .is_complete = true});
        }
    }
    group.is_done = chosen.empty() || has_settled(group, chosen.front()->sum);
    std::vector<Hypothesis> live;
    for (const Ranked* one : chosen) {
        taken_.push_back(one->continuation->token);
        const Hypothesis& from = group.live[one->from];
        if (!group.is_done)
            live.push_back(extend(from, *one, rows[from.number]));
    }
    group.live = std::move(live);
}

BeamSearch::Hypothesis BeamSearch::extend(const Hypothesis& from, const Ranked& ranked,
                                          const Continuations& row) {
    branches_.push_back({.parent = from.number, .token = ranked.continuation->token});
    nodes_.push_back({.event = event_of(*ranked.continuation, row), .parent = from.last});
    return {.last = static_cast<uint32_t>(nodes_.size() - 1),
            .number = static_cast<uint32_t>(branches_.size() - 1),
            .sum = ranked.sum};
}

double BeamSearch::normalised(double sum, uint32_t length) const {
    return sum / std::pow(static_cast<double>(length), double{beams_.length_penalty});
}

void BeamSearch::add_complete(Group& group, Complete complete) {
    complete.score = normalised(complete.hypothesis.sum, length_);
    const auto next =
        std::upper_bound(group.complete.begin(), group.complete.end(), complete,
                         [](const Complete& a, const Complete& b) { return a.score > b.score; });
    group.complete.insert(next, std::move(complete));
    group.complete.resize(std::min<std::size_t>(group.complete.size(), size()));
}

/// Whether the live hypotheses cannot, or need not, become better than the complete ones.
bool BeamSearch::has_settled(const Group& group, double best) const {
    if (group.complete.size() < size())
        return false;
    if (beams_.early_stopping == EarlyStopping::first)
        return true;
    const bool may_gain = beams_.early_stopping == EarlyStopping::never && beams_.length_penalty > 0;
    return group.complete.back().score >= normalised(best, may_gain ? bounds_.max_tokens : length_);
}

void BeamSearch::complete(uint32_t number) {
    for (Group& group : groups_) {
        const auto found = std::find_if(group.live.begin(), group.live.end(),
                                        [&](const Hypothesis& one) { return one.number == number; });
        if (found == group.live.end())
            continue;
        add_complete(group, {.hypothesis = *found, .end = std::nullopt, .is_complete = true});
        group.live.erase(found);
        group.is_done = group.live.empty() || has_settled(group, group.live.front().sum);
        if (group.is_done)
            group.live.clear();
        return;
    }
}

void BeamSearch::conclude() {
    for (Group& group : groups_) {
        for (const Hypothesis& one : group.live) {
            if (one.last != no_node)
                add_complete(group, {.hypothesis = one, .end = std::nullopt, .is_complete = false});
        }
        group.live.clear();
        group.is_done = true;
    }
}

bool BeamSearch::is_live(uint32_t number) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
        return std::any_of(group.live.begin(), group.live.end(),
                           [&](const Hypothesis& one) { return one.number == number; });
    });
}

bool BeamSearch::is_done() const {
    return std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.is_done; });
}

std::vector<BeamSearch::Answer> BeamSearch::best() const {
    std::vector<const Complete*> all;
    for (const Group& group : groups_) {
        for (const Complete& one : group.complete)
            all.push_back(&one);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Complete* a, const Complete* b) { return a->score > b->score; });
    all.resize(std::min<std::size_t>(all.size(), beams_.answers));
    std::vector<Answer> answers;
    for (const Complete* one : all) {
        Answer& answer = answers.emplace_back();
        for (uint32_t node = one->hypothesis.last; node != no_node; node = nodes_[node].parent)
            answer.tokens.push_back(nodes_[node].event);
        std::reverse(answer.tokens.begin(), answer.tokens.end());
        answer.end = one->end;
        answer.is_complete = one->is_complete;
        answer.score = one->score;
    }
    return answers;
}

} // namespace etna::engine
