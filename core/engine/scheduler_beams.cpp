#include "core/engine/scheduler.hpp"
#include "core/engine/wanted.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

// Beam searches: the hypotheses of one are sequences that take their steps together.
namespace etna::engine {

void Scheduler::begin_beams(const Beams& beams, Sequence& first) {
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

/// How many streams a request has.
uint32_t Scheduler::answers_of(RequestId request) const {
    const auto found = beams_.find(request);
    return found == beams_.end() ? 1 : found->second.answers;
}

/// Keeps what a hypothesis may go on with, until that of all others is known.
Status Scheduler::answer_beam(Sequence& sequence, const RowOutput& output, uint32_t index, Updates& updates,
                              Clock::time_point now) {
    ETNA_TRY(Continuations continuations, read_continuations(output, sequence, index, limits_, sampler_));
    --sequence.unread;
    sequence.is_answered = true;
    BeamGroup& group = beams_.at(sequence.id.request);
    const auto place = std::find(group.live.begin(), group.live.end(), &sequence);
    group.continuations[static_cast<std::size_t>(place - group.live.begin())] = std::move(continuations);
    if (std::any_of(group.live.begin(), group.live.end(),
                    [](const Sequence* one) { return one != nullptr && !one->is_answered; }))
        return {};
    return advance_beams(group, sequence, updates, now);
}

/// `any` is one of the group's sequences.
Status Scheduler::advance_beams(BeamGroup& group, const Sequence& any, Updates& updates,
                                Clock::time_point now) {
    Finished finished = describe_end(any, now);
    const RequestId request = any.id.request;
    const std::vector<BeamSearch::Branch>& branches = group.search.advance(group.continuations);
    if (!branches.empty())
        ETNA_CHECK(branch(group, branches));
    if (group.search.is_at_length())
        group.search.conclude();
    if (!group.search.is_done())
        return {};
    if (group.search.best().empty()) {
        return Error{ErrorKind::invalid_argument, "no token is possible here",
                     "take away what bans tokens, such as logit_bias and min_tokens"};
    }
    end_beams(request, std::move(finished), updates);
    return {};
}

/// Makes the sequences those of the hypotheses that live. Errors: as Constraint::is_over(); all sequences
/// still exist then.
Status Scheduler::branch(BeamGroup& group, std::span<const BeamSearch::Branch> branches) {
    std::vector<uint32_t> children(group.live.size());
    for (const BeamSearch::Branch& one : branches)
        ++children[one.parent];
    std::vector<Sequence*> live;
    for (const BeamSearch::Branch& one : branches) {
        Sequence& parent = *group.live[one.parent];
        const bool is_last = --children[one.parent] == 0; // it needs no copy of what it comes from
        live.push_back(is_last ? &parent : &fork(parent, group.next_branch++));
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
        live[i]->append(branches[i].token);
        live[i]->is_answered = false;
        ETNA_TRY(const bool is_over, follow_constraint(*live[i], branches[i].token));
        if (is_over)
            group.search.complete(static_cast<uint32_t>(i));
    }
    for (Sequence* parent : group.live) {
        if (parent != nullptr && std::find(live.begin(), live.end(), parent) == live.end())
            retire(*parent, nullptr);
    }
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (!group.search.lives(static_cast<uint32_t>(i)))
            retire(*std::exchange(live[i], nullptr), nullptr);
    }
    group.live = std::move(live);
    group.continuations.assign(group.live.size(), {});
    return {};
}

/// A sequence of the same past. Where no place is free it waits without pages.
Sequence& Scheduler::fork(const Sequence& parent, uint32_t branch) {
    const SequenceId id = {.request = parent.id.request, .branch = branch};
    Sequence& child = sequences_.emplace(id, parent.fork(id, cache_)).first->second;
    shares_.enter(child.client);
    if (child.state == SequenceState::decode && running_.size() < running_max_) {
        start_running(child);
    } else {
        wait(child);
    }
    return child;
}

/// Tells the answers of a search that is over, or was ended with `finished`, and forgets it. Who does not
/// want to wait for more gets the best there is.
void Scheduler::end_beams(RequestId request, Finished finished, Updates& updates) {
    BeamGroup& group = beams_.at(request);
    const bool is_cut = finished.reason != FinishReason::stop; // from outside, not by max_tokens
    group.search.conclude();
    std::vector<BeamSearch::Answer> answers = group.search.best();
    answers.resize(finished.reason == FinishReason::error ? 0 : answers.size());
    for (uint32_t i = 0; i < group.answers; ++i) {
        Finished last = finished;
        last.completion_tokens = 0;
        last.reason = is_cut ? finished.reason : FinishReason::length;
        // Where no more was possible, what is left is empty: it must not pass for an answer that is whole.
        if (i < answers.size()) {
            BeamSearch::Answer& answer = answers[i];
            last.reason = answer.is_whole ? FinishReason::stop : last.reason;
            last.completion_tokens = static_cast<uint32_t>(answer.tokens.size());
            last.end_event = answer.end;
            if (answer.end)
                last.end_token = answer.end->token;
            for (TokenEvent& token : answer.tokens)
                tell(updates, request, i, std::move(token));
        }
        tell(updates, request, i, std::move(last));
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
