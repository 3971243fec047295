#include "core/engine/beam_searches.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace etna::engine {

void BeamSearches::begin(const BeamOptions& beams, Sequence& first) {
    const auto [entry, is_new] = groups_.emplace(
        first.id.request,
        Group{.search = BeamSearch(beams, {.end_tokens = first.request->end_tokens,
                                           .max_tokens = first.length_max - first.prompt_tokens}),
              .answers = beams.answers,
              .live = {&first},
              .continuations = std::vector<Continuations>(1)});
    assert(is_new);
    first.continuations = entry->second.search.continuations();
}

uint32_t BeamSearches::answers_of(RequestId request) const {
    const auto found = groups_.find(request);
    return found == groups_.end() ? 1 : found->second.answers;
}

void BeamSearches::take(Sequence& sequence, Continuations continuations, Updates& updates,
                        Clock::time_point now) {
    const RequestId request = sequence.id.request;
    sequence.has_continuations = true;
    Group& group = groups_.at(request);
    const auto live = std::find(group.live.begin(), group.live.end(), &sequence);
    group.continuations[static_cast<std::size_t>(live - group.live.begin())] = std::move(continuations);
    if (std::any_of(group.live.begin(), group.live.end(),
                    [](const Sequence* one) { return one != nullptr && !one->has_continuations; }))
        return;
    const std::vector<BeamSearch::Branch>& branches = group.search.advance(group.continuations);
    if (branches.empty())
        return finish_step(group, request, describe_end(sequence, now), updates);
    branch(group, branches);
    resume(request, updates, now);
}

/// Replaces the group's sequences by those of the new hypotheses.
void BeamSearches::branch(Group& group, std::span<const BeamSearch::Branch> branches) {
    std::vector<uint32_t> children(group.live.size());
    for (const BeamSearch::Branch& one : branches)
        ++children[one.parent];
    std::vector<Sequence*> live;
    for (const BeamSearch::Branch& one : branches) {
        Sequence& parent = *group.live[one.parent];
        const bool is_last = --children[one.parent] == 0; // the last child takes over its parent's sequence
        live.push_back(is_last ? &parent : &store_.fork(parent, group.next_branch++));
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
        live[i]->append(branches[i].token);
        live[i]->has_continuations = false;
    }
    for (Sequence* parent : group.live) {
        if (parent != nullptr && std::find(live.begin(), live.end(), parent) == live.end())
            store_.retire(*parent, nullptr);
    }
    group.live = std::move(live);
    group.continuations.assign(group.live.size(), {});
}

/// Marks the complete hypotheses in the search, once the results of all constraints are known; returns
/// whether they are. Errors: as Constraint::is_over() and has_results().
Result<bool> BeamSearches::find_ends(Group& group) {
    bool are_ready = true;
    for (Sequence* one : group.live) {
        ETNA_TRY(const bool has_end, constraints_.has_results(*one, Constraint::Part::end));
        are_ready = are_ready && has_end;
    }
    if (!are_ready) {
        std::for_each(group.live.begin(), group.live.end(),
                      [&](const Sequence* one) { constraints_.stall(*one); });
        return false;
    }
    for (std::size_t i = 0; i < group.live.size(); ++i) {
        Sequence& sequence = *group.live[i];
        sequence.constraint_state.waits = false;
        if (sequence.constraint == nullptr)
            continue;
        ETNA_TRY(const bool is_over, sequence.constraint->is_over());
        if (is_over)
            group.search.complete(static_cast<uint32_t>(i));
    }
    return true;
}

void BeamSearches::resume(RequestId request, Updates& updates, Clock::time_point now) {
    Group& group = groups_.at(request);
    const Sequence& any = *group.live.front();
    const Result<bool> are_ready = find_ends(group);
    if (!are_ready)
        return end(request, describe_failure(any, are_ready.error(), now), updates);
    if (!*are_ready)
        return;
    Finished finished = describe_end(any, now);
    for (std::size_t i = 0; i < group.live.size(); ++i) {
        if (!group.search.is_live(static_cast<uint32_t>(i)))
            store_.retire(*std::exchange(group.live[i], nullptr), nullptr);
    }
    finish_step(group, request, std::move(finished), updates);
}

/// Ends the search if it is over; `finished` describes it.
void BeamSearches::finish_step(Group& group, RequestId request, Finished finished, Updates& updates) {
    if (group.search.is_at_length())
        group.search.conclude();
    if (!group.search.is_done())
        return;
    if (group.search.best().empty()) {
        finished.reason = FinishReason::error;
        finished.error = Error{ErrorKind::invalid_argument, "no token is possible here",
                               "relax the options that ban tokens, such as logit_bias and min_tokens"};
    }
    end(request, std::move(finished), updates);
}

void BeamSearches::end(RequestId request, Finished finished, Updates& updates) {
    Group& group = groups_.at(request);
    const bool is_cut = finished.reason != FinishReason::stop; // cancelled or failed
    group.search.conclude();
    std::vector<BeamSearch::Answer> answers = group.search.best();
    answers.resize(finished.reason == FinishReason::error ? 0 : answers.size());
    for (uint32_t i = 0; i < group.answers; ++i) {
        Finished last = finished;
        last.completion_tokens = 0;
        last.reason = is_cut ? finished.reason : FinishReason::length;
        // Missing answers are empty, and must not look like complete ones.
        if (i < answers.size()) {
            BeamSearch::Answer& answer = answers[i];
            last.reason = answer.is_complete ? FinishReason::stop : last.reason;
            last.completion_tokens = static_cast<uint32_t>(answer.tokens.size());
            last.end_event = answer.end;
            if (answer.end)
                last.end_token = answer.end->token;
            for (TokenEvent& token : answer.tokens)
                emit(updates, request, i, std::move(token));
        }
        emit(updates, request, i, std::move(last));
    }
    groups_.erase(request);
    store_.retire_all(request, finished.error ? &*finished.error : nullptr);
}

} // namespace etna::engine
