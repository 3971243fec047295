#include "core/engine/scheduler.hpp"
#include "core/engine/wanted.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

// Applies the outputs of a batch to the sequences, and ends them.
namespace etna::engine {

Status Scheduler::publish(const Outputs& outputs, Updates& updates, Clock::time_point now) {
    if (steps_.empty() || steps_.front().size() != outputs.rows.size()) {
        return Error{ErrorKind::internal,
                     fmt::format("{} outputs for a step that wanted {}", outputs.rows.size(),
                                 steps_.empty() ? 0 : steps_.front().size())};
    }
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    for (std::size_t i = 0; i < step.size(); ++i) {
        const Wanted& wanted = step[i];
        if (wanted.slot)
            free_slots_.push_back(*wanted.slot); // the rows that read it, if any, have been submitted
        const auto found = sequences_.find(wanted.sequence);
        if (found == sequences_.end())
            continue; // surplus: the request has ended since
        Sequence& sequence = found->second;
        Status status;
        const bool is_right = came_right(sequence, wanted);
        // The token after a draft may be known already, if a constraint forced it.
        const bool is_news = !wanted.draft || wanted.index + 1 == sequence.length();
        if (is_right && is_news)
            status = take_output(sequence, wanted, outputs.rows[i], updates, now);
        settle_drafts(step, i);
        if (!status && outputs.rows[i].error) {
            fail(sequence, status.error(), updates, now); // the others continue
        } else {
            ETNA_CHECK(settle(sequence, status, updates, now));
        }
    }
    return {};
}

/// Ends a sequence that failed through its own request; the others continue. Errors: any other failure.
Status Scheduler::settle(Sequence& sequence, const Status& status, Updates& updates, Clock::time_point now) {
    if (status)
        return {};
    const ErrorKind kind = status.error().kind;
    const bool is_own_fault = kind == ErrorKind::invalid_argument || kind == ErrorKind::unsupported ||
                              kind == ErrorKind::out_of_memory; // out_of_memory of its constraint
    if (!is_own_fault)
        return status;
    fail(sequence, status.error(), updates, now);
    return {};
}

/// Errors: those of the row, of read_token() and of constraints. The sequence still exists then.
Status Scheduler::take_output(Sequence& sequence, const Wanted& wanted, const RowOutput& output,
                              Updates& updates, Clock::time_point now) {
    const uint32_t index = wanted.index;
    if (output.error)
        return *output.error;
    if (index + 1 < sequence.prompt_tokens) {
        const TokenEvent score = read_score(output, sequence, index);
        for (uint32_t answer = 0; answer < answers_of(sequence.id.request); ++answer)
            tell(updates, sequence.id.request, answer, score);
        return {};
    }
    ETNA_TRY(const bool knows_tokens, is_known(sequence, Constraint::Part::tokens));
    if (!knows_tokens) {
        park(sequence, wanted, output);
        return {};
    }
    if (!sequence.first_token)
        sequence.first_token = now;
    if (sequence.continuations > 0)
        return answer_beam(sequence, output, index, updates, now);
    ETNA_TRY(TokenEvent token, read_token(output, sequence, index, limits_, sampler_));
    sequence.unread -= wanted.draft ? 0 : 1;
    return accept(sequence, std::move(token), updates, now);
}

Status Scheduler::accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now) {
    if (sequence.is_end(token.token)) {
        Finished finished = describe_end(sequence, now);
        finished.reason = FinishReason::stop;
        finished.end_token = token.token;
        finished.end_event = std::move(token);
        end(sequence, std::move(finished), updates);
        return {};
    }
    sequence.append(token.token);
    sequence.following.forced.reset();
    tell(updates, sequence.id.request, 0, std::move(token));
    return follow(sequence, updates, now);
}

void Scheduler::fail(Sequence& sequence, const Error& error, Updates& updates, Clock::time_point now) {
    Finished finished = describe_end(sequence, now);
    finished.reason = FinishReason::error;
    finished.error = error;
    end(sequence, std::move(finished), updates);
}

void Scheduler::cancel(RequestId id, Updates& updates, Clock::time_point now) {
    const auto found = sequences_.lower_bound({.request = id});
    if (found != sequences_.end() && found->first.request == id)
        end(found->second, FinishReason::cancelled, updates, now);
}

void Scheduler::end_all(FinishReason reason, const std::optional<Error>& error, Updates& updates,
                        Clock::time_point now) {
    while (!sequences_.empty()) {
        Sequence& sequence = sequences_.begin()->second;
        Finished finished = describe_end(sequence, now);
        finished.reason = reason;
        finished.error = error;
        end(sequence, std::move(finished), updates);
    }
}

void Scheduler::end(Sequence& sequence, FinishReason reason, Updates& updates, Clock::time_point now) {
    Finished finished = describe_end(sequence, now);
    finished.reason = reason;
    end(sequence, std::move(finished), updates);
}

void Scheduler::end(Sequence& sequence, Finished finished, Updates& updates) {
    const RequestId request = sequence.id.request;
    if (sequence.continuations > 0)
        return end_beams(request, std::move(finished), updates);
    retire(sequence, finished.error ? &*finished.error : nullptr);
    tell(updates, request, 0, std::move(finished));
}

/// Releases everything that a sequence holds, and removes it. `error`: the error that ended it; null: none.
void Scheduler::retire(Sequence& sequence, const Error* error) {
    if (error != nullptr && error->kind == ErrorKind::internal) {
        cache_.withdraw(sequence.pages); // invalid content must not be found again
    } else {
        cache_.publish_all(sequence.pages, sequence.content(),
                           std::min(sequence.computed, sequence.length()));
    }
    cache_.release(sequence.pages);
    if (sequence.following.job != nullptr)
        sequence.following.job->cancel();
    if (workers_ != nullptr && sequence.constraint != nullptr)
        workers_->dispose(std::move(sequence.constraint));
    stop_running(sequence);
    waiting_.erase(sequence);
    shares_.leave(sequence.client);
    sequences_.erase(SequenceId(sequence.id)); // a copy, because the key is destroyed with the sequence
}

void Scheduler::tell(Updates& updates, RequestId request, uint32_t answer, Event event) {
    Update& update = updates.emplace_back();
    update.request = request;
    update.answer = answer;
    update.event = std::move(event);
}

} // namespace etna::engine
