#include "core/engine/output_reader.hpp"

#include "core/engine/token_selection.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace etna::engine {

Status OutputReader::read(Sequence& sequence, const PendingOutput& pending, const RowOutput& output,
                          Updates& updates, Clock::time_point now) {
    const uint32_t position = pending.position;
    if (output.error)
        return *output.error;
    if (sequence.request->hidden) {
        take_hidden(sequence, pending, output, updates, now);
        return {};
    }
    if (position + 1 < sequence.prompt_tokens) {
        const TokenEvent prompt_token = read_prompt_logprob(output, sequence, position);
        for (uint32_t answer = 0; answer < beams_.answers_of(sequence.id.request); ++answer)
            emit(updates, sequence.id.request, answer, prompt_token);
        return {};
    }
    if (position + 1 < sequence.length())
        return {}; // the token was forced after the row was submitted
    ETNA_TRY(const bool has_tokens, constraints_.has_results(sequence, Constraint::Part::tokens));
    if (!has_tokens) {
        park(sequence, pending, output);
        return {};
    }
    if (!sequence.first_token)
        sequence.first_token = now;
    if (sequence.continuations > 0) {
        ETNA_TRY(Continuations continuations,
                 read_continuations(output, sequence, position, limits_, sampler_));
        --sequence.pending_samples;
        beams_.take(sequence, std::move(continuations), updates, now);
        return {};
    }
    ETNA_TRY(TokenEvent token, read_token(output, sequence, position, limits_, sampler_));
    sequence.pending_samples -= pending.draft ? 0 : 1;
    return accept(sequence, std::move(token), updates, now);
}

/// Stores the hidden state of a row, or adds it to their sum; the last one ends the request.
void OutputReader::take_hidden(Sequence& sequence, const PendingOutput& pending, const RowOutput& output,
                               Updates& updates, Clock::time_point now) {
    const bool is_last = pending.position + 1 == sequence.prompt_tokens;
    if (sequence.request->hidden == HiddenRows::mean) {
        sequence.hidden_sum.resize(output.hidden.size());
        for (std::size_t i = 0; i < output.hidden.size(); ++i)
            sequence.hidden_sum[i] += double{output.hidden[i]};
        for (std::size_t i = 0; is_last && i < output.hidden.size(); ++i) {
            sequence.hidden_states.push_back(
                static_cast<float>(sequence.hidden_sum[i] / sequence.prompt_tokens));
        }
    } else {
        sequence.hidden_states.insert(sequence.hidden_states.end(), output.hidden.begin(),
                                      output.hidden.end());
    }
    if (!is_last && sequence.request->hidden != HiddenRows::first)
        return;
    sequence.first_token = now;
    Finished finished = describe_end(sequence, now);
    finished.reason = FinishReason::stop;
    finished.hidden = std::move(sequence.hidden_states);
    finisher_.end(sequence, std::move(finished), updates);
}

/// Appends a sampled token, or ends the sequence if it is an end token. Errors: as finish_or_force().
Status OutputReader::accept(Sequence& sequence, TokenEvent token, Updates& updates, Clock::time_point now) {
    if (sequence.is_end(token.token)) {
        Finished finished = describe_end(sequence, now);
        finished.reason = FinishReason::stop;
        finished.end_token = token.token;
        finished.end_event = std::move(token);
        sequence.append_end(*finished.end_token);
        finisher_.end(sequence, std::move(finished), updates);
        return {};
    }
    sequence.append(token.token);
    sequence.constraint_state.forced.reset();
    emit(updates, sequence.id.request, 0, std::move(token));
    return finish_or_force(sequence, updates, now);
}

/// Ends the sequence if nothing may follow its last token; otherwise appends the tokens that the constraint
/// forces: known tokens, whose rows have no output. Errors: as Constraint::is_over() and has_results().
Status OutputReader::finish_or_force(Sequence& sequence, Updates& updates, Clock::time_point now) {
    while (true) {
        const bool needs_forced = !sequence.constraint_state.forced;
        const auto part = needs_forced ? Constraint::Part::forced : Constraint::Part::end;
        ETNA_TRY(const bool has_end, constraints_.has_results(sequence, part));
        sequence.constraint_state.waits = !has_end;
        if (!has_end) {
            constraints_.stall(sequence);
            return {};
        }
        bool is_over = false;
        if (sequence.constraint != nullptr) {
            ETNA_TRY(is_over, sequence.constraint->is_over());
        }
        if (is_over || sequence.length() == sequence.length_max) {
            finisher_.end(sequence, is_over ? FinishReason::stop : FinishReason::length, updates, now);
            return {};
        }
        const auto token = ConstraintRunner::next_forced(sequence);
        if (!token)
            return {};
        sequence.pending_samples = 0; // of rows in flight, for the position of this token
        sequence.append(*token);
        TokenEvent forced{.token = *token}; // with a probability of 1
        if (sequence.request->top_candidates > 0)
            forced.top = {{.token = *token, .logit = 0}};
        emit(updates, sequence.id.request, 0, std::move(forced));
    }
}

/// Stores the output of a row until the allowed tokens are known. The sample of a draft's row is pending from
/// now on, as any other.
void OutputReader::park(Sequence& sequence, const PendingOutput& pending, const RowOutput& output) {
    sequence.pending_samples += pending.draft ? 1 : 0;
    sequence.constraint_state.parked = {.position = pending.position, .output = output};
    constraints_.stall(sequence);
}

void OutputReader::resume_stalled(Updates& updates, Clock::time_point now) {
    for (const SequenceId id : constraints_.take_stalled()) {
        Sequence* const sequence = store_.find(id);
        if (sequence == nullptr)
            continue;
        if (const Status status = resume(*sequence, updates, now); !status)
            finisher_.fail(*sequence, status.error(), updates, now);
    }
}

/// Resumes a sequence if its constraint has results. Errors: as read(); the sequence still exists then.
Status OutputReader::resume(Sequence& sequence, Updates& updates, Clock::time_point now) {
    const SequenceId id = sequence.id;
    if (sequence.constraint_state.waits && sequence.continuations > 0) {
        beams_.resume(id.request, updates, now);
        return {};
    }
    if (sequence.constraint_state.waits)
        ETNA_CHECK(finish_or_force(sequence, updates, now));
    if (store_.find(id) == nullptr || sequence.constraint_state.waits || !sequence.constraint_state.parked)
        return {};
    const ConstraintState::Parked parked = *std::exchange(sequence.constraint_state.parked, std::nullopt);
    if (parked.position + 1 < sequence.length())
        return {}; // its token was forced
    return read(sequence, {.sequence = id, .position = parked.position}, parked.output, updates, now);
}

void OutputReader::prepare_constraints(const Step& step) {
    for (const PendingOutput& pending : step) {
        Sequence* const sequence = store_.find(pending.sequence);
        if (sequence == nullptr || pending.position + 1 != sequence->length())
            continue;
        // Errors are returned again when the logits are read.
        (void)constraints_.has_results(*sequence, Constraint::Part::tokens);
    }
}

} // namespace etna::engine
