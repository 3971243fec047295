#include "core/engine/scheduler.hpp"
#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

// Beam search: the hypotheses of one search are sequences that advance in lockstep.
namespace etna::engine {

void Scheduler::begin_beams(const BeamOptions& beams, Sequence& first) {
    const auto [entry, is_new] = beams_.emplace(
        first.id.request,
        BeamGroup{.search = BeamSearch(beams, {.end_tokens = first.end_tokens,
                                               .max_tokens = first.length_max - first.prompt_tokens}),
                  .answers = beams.answers,
                  .live = {&first},
                  .continuations = std::vector<Continuations>(1)});
    assert(is_new);
    first.continuations = entry->second.search.continuations();
}

/// Returns the number of streams of a request.
uint32_t Scheduler::answers_of(RequestId request) const {
    const auto found = beams_.find(request);
    return found == beams_.end() ? 1 : found->second.answers;
}

/// Stores the continuations of a hypothesis, and advances the search once those of all hypotheses are known.
Status Scheduler::store_continuations(Sequence& sequence, const RowOutput& output, uint32_t position,
                                      Updates& updates, Clock::time_point now) {
    ETNA_TRY(Continuations continuations, read_continuations(output, sequence, position, limits_, sampler_));
    --sequence.pending_samples;
    sequence.has_continuations = true;
    BeamGroup& group = beams_.at(sequence.id.request);
    const auto live = std::find(group.live.begin(), group.live.end(), &sequence);
    group.continuations[static_cast<std::size_t>(live - group.live.begin())] = std::move(continuations);
    if (std::any_of(group.live.begin(), group.live.end(),
                    [](const Sequence* one) { return one != nullptr && !one->has_continuations; }))
        return {};
    advance_beams(group, sequence, updates, now);
    return {};
}

/// Advances the search by one token. `any`: one of the group's sequences.
void Scheduler::advance_beams(BeamGroup& group, const Sequence& any, Updates& updates,
                              Clock::time_point now) {
    const RequestId request = any.id.request;
    const std::vector<BeamSearch::Branch>& branches = group.search.advance(group.continuations);
    if (branches.empty())
        return finish_beam_step(group, request, describe_end(any, now), updates);
    branch(group, branches);
    continue_beams(group, request, updates, now);
}

/// Replaces the group's sequences by those of the new hypotheses.
void Scheduler::branch(BeamGroup& group, std::span<const BeamSearch::Branch> branches) {
    std::vector<uint32_t> children(group.live.size());
    for (const BeamSearch::Branch& one : branches)
        ++children[one.parent];
    std::vector<Sequence*> live;
    for (const BeamSearch::Branch& one : branches) {
        Sequence& parent = *group.live[one.parent];
        const bool is_last = --children[one.parent] == 0; // the last child takes over its parent's sequence
        live.push_back(is_last ? &parent : &fork(parent, group.next_branch++));
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
        live[i]->append(branches[i].token);
        live[i]->has_continuations = false;
    }
    for (Sequence* parent : group.live) {
        if (parent != nullptr && std::find(live.begin(), live.end(), parent) == live.end())
            retire(*parent, nullptr);
    }
    group.live = std::move(live);
    group.continuations.assign(group.live.size(), {});
}

/// Marks the complete hypotheses in the search, once the results of all constraints are known; returns
/// whether they are. Errors: as Constraint::is_over() and has_results().
Result<bool> Scheduler::find_ends(BeamGroup& group) {
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

/// Continues with the live hypotheses, once find_ends() has found them. An error in one ends the search.
void Scheduler::continue_beams(BeamGroup& group, RequestId request, Updates& updates, Clock::time_point now) {
    Sequence& any = *group.live.front();
    const Result<bool> are_ready = find_ends(group);
    if (!are_ready)
        return fail(any, are_ready.error(), updates, now);
    if (!*are_ready)
        return;
    Finished finished = describe_end(any, now);
    for (std::size_t i = 0; i < group.live.size(); ++i) {
        if (!group.search.is_live(static_cast<uint32_t>(i)))
            retire(*std::exchange(group.live[i], nullptr), nullptr);
    }
    finish_beam_step(group, request, std::move(finished), updates);
}

/// Ends the search if it is over; `finished` describes it.
void Scheduler::finish_beam_step(BeamGroup& group, RequestId request, Finished finished, Updates& updates) {
    if (group.search.is_at_length())
        group.search.conclude();
    if (!group.search.is_done())
        return;
    if (group.search.best().empty()) {
        finished.reason = FinishReason::error;
        finished.error = Error{ErrorKind::invalid_argument, "no token is possible here",
                               "relax the options that ban tokens, such as logit_bias and min_tokens"};
    }
    end_beams(request, std::move(finished), updates);
}

/// Forks a sequence. If capacity is used up, the child waits without pages.
Sequence& Scheduler::fork(const Sequence& parent, uint32_t branch_number) {
    const SequenceId id = {.request = parent.id.request, .branch = branch_number};
    Sequence& child = sequences_.emplace(id, parent.fork(id, cache_)).first->second;
    admission_.add(child);
    if (child.state == SequenceState::decode && admission_.has_capacity()) {
        admission_.start(child);
    } else {
        release(child);
    }
    return child;
}

/// Emits the answers of a search that is over, or was ended with `finished`, and removes it. A search that is
/// ended early returns the best answers so far.
void Scheduler::end_beams(RequestId request, Finished finished, Updates& updates) {
    BeamGroup& group = beams_.at(request);
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
    const Error* const error = finished.error ? &*finished.error : nullptr;
    beams_.erase(request);
    for (auto one = sequences_.lower_bound({.request = request});
         one != sequences_.end() && one->first.request == request;) {
        Sequence& sequence = one->second;
        ++one;
        retire(sequence, error);
    }
}

} // namespace etna::engine
