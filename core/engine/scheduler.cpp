#include "core/engine/scheduler.hpp"

#include "core/base/bytes.hpp"
#include "core/engine/token_selection.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

Error broken(const Sequence& sequence, const char* what) {
    return {ErrorKind::internal,
            fmt::format("request {} {}: {} tokens, {} computed, {} samples pending", sequence.id.request,
                        what, sequence.length(), sequence.computed_tokens, sequence.pending_samples)};
}

/// Returns the maximum number of running sequences, so that a decoding one always gets a row and an output,
/// and mostly a slot.
uint32_t running_max(const Limits& limits) {
    return std::min({limits.sequences_max, limits.batch_rows_max, limits.output_rows_max,
                     std::max(limits.slots / limits.in_flight_max, 1U)});
}

Status verify_sequence(const Sequence& sequence, bool is_running) {
    const bool holds_pages = std::any_of(sequence.pages.groups.begin(), sequence.pages.groups.end(),
                                         [](const auto& table) { return !table.empty(); });
    const bool should_run =
        sequence.state == SequenceState::prefill || sequence.state == SequenceState::decode;
    if (is_running != should_run || is_running != holds_pages)
        return broken(sequence, "has pages or a running state that contradict each other");
    if (sequence.kinds.size() != sequence.tokens.size())
        return broken(sequence, "has more or fewer row kinds than tokens");
    if (sequence.computed_tokens > sequence.expected_length() + sequence.drafts_in_flight() ||
        sequence.length() >= sequence.length_max + (sequence.constraint_state.waits ? 1 : 0))
        return broken(sequence, "exceeds its maximum length");
    return {};
}

} // namespace

Scheduler::Scheduler(const Limits& limits, const SchedulerOptions& options)
    : limits_(limits), admission_(running_max(limits)), cache_(limits, options.hash_key, options.model_salt),
      prefill_rows_max_(limits.batch_rows_max) {
    for (uint32_t slot = limits.slots; slot > 0; --slot)
        free_slots_.push_back(slot - 1);
}

void Scheduler::add(RequestId id, Request request, Clock::time_point now,
                    std::optional<RequestId> request_group) {
    assert(sequences_.empty() || sequences_.rbegin()->first.request < id);
    const std::optional<BeamOptions> beams = request.beams;
    if (request.speculation && !has_draft_model_)
        request.speculation->uses_model = false;
    const SequenceId first = {.request = id};
    const auto [entry, is_new] =
        sequences_.emplace(first, make_sequence(id, std::move(request), limits_, cache_, now));
    assert(is_new);
    entry->second.request_group = request_group.value_or(id);
    admission_.add(entry->second);
    if (beams)
        begin_beams(*beams, entry->second);
}

const Batch& Scheduler::schedule(Updates& updates, Clock::time_point now) {
    batch_.copies.clear();
    batch_.sequences.clear();
    batch_.rows.clear();
    Step step;
    resume_stalled(updates, now);
    for (Sequence* sequence : admission_.running()) // rejected drafts are recomputed from the last token on
        cache_.advance(sequence->pages, std::min(sequence->computed_tokens, sequence->length() - 1));
    spare_rows_ = rows_for_drafts();
    rebalance();
    schedule_decode(step, updates, now);
    schedule_prefill(step, updates, now);
    admission_.end_batch();
    for (Sequence* sequence : admission_.running()) {
        cache_.publish(sequence->pages, sequence->content(),
                       std::min(sequence->computed_tokens, sequence->length()));
    }
    cache_.end_batch();
    if (!batch_.rows.empty())
        steps_.push_back(std::move(step));
    return batch_;
}

bool Scheduler::samples_on_device(const Sequence& sequence) const {
    return output_spec_for(sequence, sequence.expected_length() - 1, limits_).output_kind ==
           OutputKind::sampled;
}

/// Whether the next row has an input, capacity for its output, and a use.
bool Scheduler::can_generate(const Sequence& sequence) const {
    const uint32_t position = sequence.computed_tokens;
    if (sequence.constraint_state.waits)
        return false;
    const bool is_known = position < sequence.length();
    const bool has_input = is_known || (position < sequence.expected_length() && sequence.slot);
    if (!is_known && sequence.draft_state && !sequence.draft_state->is_paused() && rows_for_drafts() > 0)
        return false; // drafts are made from all tokens, so the next one has to be read first
    const bool has_output = !samples_on_device(sequence) || !free_slots_.empty();
    return has_input && has_output && position + 1 < sequence.length_max;
}

void Scheduler::schedule_decode(Step& step, Updates& updates, Clock::time_point now) {
    const std::vector<Sequence*>& running = admission_.running();
    for (std::size_t i = 0; i < running.size();) {
        Sequence& sequence = *running[i];
        if (sequence.state != SequenceState::decode || sequence.backpressure == Backpressure::on ||
            !can_generate(sequence)) {
            ++i;
            continue;
        }
        if (!reserve_page(i, updates, now)) {
            i += i < running.size() && running[i] == &sequence ? 1 : 0; // otherwise the next one is at i
            continue;
        }
        ++i;
        const uint32_t known = reserve_rows(sequence);
        reserve_drafts(sequence);
        append_rows(sequence, known, step);
        append_drafts(sequence, step);
    }
}

/// Reserves the rows of a decoding sequence and returns their number: one, and more if a constraint forced
/// several tokens at once and rows and pages for them are available.
uint32_t Scheduler::reserve_rows(Sequence& sequence) {
    if (sequence.computed_tokens + 1 >= sequence.length())
        return 1;
    const uint32_t count = std::min(sequence.length() - sequence.computed_tokens, spare_rows_ + 1);
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    if (!cache_.reserve(sequence.pages, sequence.computed_tokens, sequence.computed_tokens + count, spare,
                        batch_.copies))
        return 1;
    spare_rows_ -= count - 1;
    return count;
}

/// Reserves a page for the next row of admission_.running()[index], preempting sequences from `index` on if
/// necessary: they have no rows in this batch yet. Returns false if the sequence itself was preempted, or has
/// used up the memory.
bool Scheduler::reserve_page(std::size_t index, Updates& updates, Clock::time_point now) {
    Sequence& sequence = *admission_.running()[index];
    while (!cache_.reserve(sequence.pages, sequence.computed_tokens, sequence.computed_tokens + 1, 0,
                           batch_.copies)) {
        if (admission_.running().size() > 1) {
            Sequence& victim = admission_.last_served(index);
            preempt(victim);
            if (&victim == &sequence)
                return false;
            continue;
        }
        sequence.length_max = sequence.expected_length(); // pending samples still arrive
        if (sequence.pending_samples == 0)
            end(sequence, FinishReason::length, updates, now);
        return false;
    }
    return true;
}

/// Schedules prefill rows of running and waiting sequences, in the order of their clients: a waiting request
/// is admitted before the running prompts of a later client take the rest of the batch.
void Scheduler::schedule_prefill(Step& step, Updates& updates, Clock::time_point now) {
    lacks_pages_ = false;
    const auto rows = static_cast<uint32_t>(batch_.rows.size());
    prefill_end_ = std::min(limits_.batch_rows_max, rows + prefill_rows_max_);
    prompts_.clear();
    for (Sequence* sequence : admission_.running()) {
        if (sequence->state == SequenceState::prefill)
            prompts_.push_back(sequence);
    }
    std::sort(prompts_.begin(), prompts_.end(),
              [this](const Sequence* a, const Sequence* b) { return admission_.is_served_before(*a, *b); });
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
        i = admit_waiting(i, step, updates, now);
        continue_prefill(i, step);
    }
    admit_waiting(prompts_.size(), step, updates, now);
}

/// Returns the maximum number of prefill rows that the sequences after this one can use.
uint32_t Scheduler::prefill_rows_after(const Sequence& sequence) const {
    uint32_t rows = 0;
    for (auto one = prompts_.rbegin(); one != prompts_.rend() && *one != &sequence; ++one)
        rows += (*one)->length() - (*one)->computed_tokens;
    std::size_t capacity = admission_.capacity();
    std::vector<std::size_t> pages(limits_.groups.size(),
                                   admission_.running().size()); // left free for decoding
    const auto takes = [&](const Sequence& waiting) {
        bool fits = true;
        for (std::size_t group = 0; group < pages.size(); ++group) {
            pages[group] += cache_.admission_pages(group, waiting.length());
            fits = fits && pages[group] <= cache_.pools()[group].available();
        }
        return fits;
    };
    for (const auto& [client, queue] : admission_.waiting().queues()) {
        for (auto one = queue.begin(); one != queue.end() && capacity > 0; ++one) {
            const Sequence& waiting = **one;
            if (waiting.backpressure == Backpressure::on || waiting.has_continuations ||
                waiting.pending_samples > 0 || waiting.constraint_state.waits)
                continue;
            if (!takes(waiting))
                return rows; // it cannot be admitted, so rows left for it would stay unused
            rows += waiting.length();
            --capacity;
        }
    }
    return rows;
}

/// Returns the number of prefill rows that fit, limited so that a long prompt does not block all others until
/// it ends.
uint32_t Scheduler::prefill_rows(const Sequence& sequence, const Step& step) const {
    auto rows = prefill_end_ - static_cast<uint32_t>(batch_.rows.size());
    if (sequence.length() - sequence.computed_tokens > rows) // it takes several batches anyway
        rows -= std::min(rows / 2, prefill_rows_after(sequence));
    const auto outputs = limits_.output_rows_max - static_cast<uint32_t>(step.size());
    uint32_t end = sequence.length();
    if (outputs == 0 || (samples_on_device(sequence) && free_slots_.empty()))
        --end; // the last row produces an output, for which this batch has no capacity
    const uint32_t unscored = std::max(sequence.computed_tokens, sequence.unscored);
    if (sequence.needs_prompt_logprob(unscored)) // half of the outputs, so that other sequences get some
        end = std::min(end, unscored + divide_up(outputs, 2));
    return std::min(rows, end - sequence.computed_tokens);
}

/// Schedules as many rows of prompts_[index] as fit. Full groups have their pages since the admission; pages
/// with a window are reserved here. If there are none, later prompts, which have no rows in this batch yet,
/// are preempted, and at last itself.
void Scheduler::continue_prefill(std::size_t index, Step& step) {
    Sequence& sequence = *prompts_[index];
    const uint32_t begin = sequence.computed_tokens;
    const uint32_t count = prefill_rows(sequence, step);
    while (count > 0 && !cache_.reserve(sequence.pages, begin, begin + count, 0, batch_.copies)) {
        Sequence& victim = *prompts_.back();
        prompts_.pop_back();
        preempt(victim);
        lacks_pages_ = true;
        if (&victim == &sequence)
            return;
    }
    append_prefill(sequence, count, step);
}

/// Schedules `count` prefill rows. Their pages are reserved.
void Scheduler::append_prefill(Sequence& sequence, uint32_t count, Step& step) {
    append_rows(sequence, count, step);
    if (sequence.computed_tokens == sequence.length())
        sequence.state = SequenceState::decode;
}

void Scheduler::append_rows(Sequence& sequence, uint32_t count, Step& step) {
    if (count == 0)
        return;
    admission_.charge(sequence.client, count);
    const auto view_index = static_cast<uint32_t>(batch_.sequences.size());
    SequenceView& view = batch_.sequences.emplace_back();
    view.pages.assign(sequence.pages.groups.begin(), sequence.pages.groups.end());
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t position = sequence.computed_tokens++;
        Row& row = batch_.rows.emplace_back();
        row.kind = sequence.kind(position);
        row.sequence = view_index;
        row.set_position(position);
        row.input = position < sequence.length() ? RowInput::token : RowInput::slot;
        row.value = position < sequence.length() ? sequence.tokens[position] : *sequence.slot;
        if (position + 1 == sequence.expected_length()) {
            request_output(sequence, row, step);
        } else if (sequence.needs_prompt_logprob(position)) {
            request_prompt_logprob(sequence, row, step);
        }
    }
}

void Scheduler::request_prompt_logprob(Sequence& sequence, Row& row, Step& step) {
    row.output_kind = OutputKind::logits;
    row.candidates = std::min(sequence.prompt_candidates, limits_.vocabulary);
    sequence.unscored = row.position + 1;
    step.push_back({.sequence = sequence.id, .position = row.position});
}

void Scheduler::request_output(Sequence& sequence, Row& row, Step& step) {
    const OutputSpec spec = output_spec_for(sequence, row.position, limits_);
    row.output_kind = spec.output_kind;
    row.candidates = spec.candidates;
    sequence.slot.reset();
    if (row.output_kind == OutputKind::sampled) {
        row.sampling = sequence.sampling;
        row.output_slot = free_slots_.back();
        free_slots_.pop_back();
        sequence.slot = row.output_slot;
    }
    ++sequence.pending_samples;
    step.push_back({.sequence = sequence.id, .position = row.position, .slot = sequence.slot});
}

/// Preempts one sequence if the fair share of a waiting one requires it; it has no rows in this batch yet.
/// One per batch is enough.
void Scheduler::rebalance() {
    if ((admission_.has_capacity() && !lacks_pages_) || admission_.idle_sequence() != nullptr)
        return;
    const Sequence* const next = admission_.next();
    if (Sequence* const victim = next == nullptr ? nullptr : admission_.victim_for(*next); victim != nullptr)
        preempt(*victim);
}

/// Releases a sequence's pages, so that it waits with nothing computed.
void Scheduler::release(Sequence& sequence) {
    cache_.release(sequence.pages);
    sequence.computed_tokens = 0;
    sequence.state = SequenceState::waiting;
}

/// Moves a running sequence to the waiting ones. Its full pages stay in the cache while they are not needed.
void Scheduler::preempt(Sequence& sequence) {
    admission_.stop(sequence);
    cache_.publish_all(sequence.pages, sequence.content(),
                       std::min(sequence.computed_tokens, sequence.length()));
    ++preemptions_;
    release(sequence);
}

/// Preempts an idle sequence. Returns false if there is none.
bool Scheduler::preempt_idle() {
    Sequence* const one = admission_.idle_sequence();
    if (one != nullptr)
        preempt(*one);
    return one != nullptr;
}

/// Admits waiting requests while rows are left, each with the first rows of its prompt; only those of clients
/// that come before that of prompts_[index], if it exists. They are inserted before it. Returns its new
/// index.
std::size_t Scheduler::admit_waiting(std::size_t index, Step& step, Updates& updates, Clock::time_point now) {
    while (!lacks_pages_ && batch_.rows.size() < prefill_end_) {
        Sequence* const next = admission_.next();
        if (next == nullptr)
            return index;
        Sequence& sequence = *next;
        if (index < prompts_.size() && !admission_.is_admitted_before(sequence, *prompts_[index]))
            return index;
        // Its last row may be its only one, and a copied page must be written by rows of the same batch.
        if (step.size() == limits_.output_rows_max || (samples_on_device(sequence) && free_slots_.empty()))
            return index;
        if (!admission_.has_capacity() && !preempt_idle())
            return index;
        if (sequence.pending_samples > 0)
            return index; // it was preempted, and its last tokens have not arrived
        if (!allocate_pages(sequence)) {
            if (preempt_idle())
                continue;
            lacks_pages_ = !admission_.running().empty();
            if (lacks_pages_)
                return index;
            end(sequence, FinishReason::length, updates, now); // it needs more pages than exist
            continue;
        }
        admission_.start(sequence);
        prompts_.insert(prompts_.begin() + static_cast<std::ptrdiff_t>(index++), &sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed_tokens;
        }
        append_prefill(sequence, prefill_rows(sequence, step), step);
    }
    return index;
}

/// Allocates pages for all known tokens, as many as possible from the cache; at least one row is left to
/// compute, and all that return a prompt token's log-probability. Some pages stay free for decoding
/// sequences, so that the admitted one is not preempted at once.
bool Scheduler::allocate_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    const uint32_t limit = sequence.needs_prompt_logprob(sequence.unscored) ? sequence.unscored : length - 1;
    // The second attempt excludes the page that would be copied for a few rows only.
    for (const PartialPages partial : {PartialPages::share, PartialPages::skip}) {
        const uint32_t cached = cache_.find(sequence.pages, sequence.content(), limit, partial);
        if (cache_.reserve(sequence.pages, cached, length, spare, batch_.copies)) {
            sequence.computed_tokens = cached;
            return true;
        }
        cache_.release(sequence.pages);
    }
    return false;
}

void Scheduler::set_backpressure(RequestId id, Backpressure backpressure) {
    for (auto one = sequences_.lower_bound({.request = id});
         one != sequences_.end() && one->first.request == id; ++one)
        one->second.backpressure = backpressure;
}

bool Scheduler::has_begun(RequestId id) const {
    const auto one = sequences_.lower_bound({.request = id});
    return one != sequences_.end() && one->first.request == id && one->second.admitted.has_value();
}

std::optional<uint32_t> Scheduler::rows_left(RequestId id) const {
    const auto one = sequences_.find({.request = id});
    if (one == sequences_.end() || one->second.state == SequenceState::waiting)
        return std::nullopt;
    const Sequence& sequence = one->second;
    return sequence.length() - std::min(sequence.computed_tokens, sequence.length());
}

bool Scheduler::has_backpressure() const {
    return std::any_of(sequences_.begin(), sequences_.end(),
                       [](const auto& entry) { return entry.second.backpressure == Backpressure::on; });
}

Status Scheduler::process_outputs(const Outputs& outputs, Updates& updates, Clock::time_point now) {
    if (steps_.empty() || steps_.front().size() != outputs.rows.size()) {
        return Error{ErrorKind::internal,
                     fmt::format("a step has {} outputs; {} were requested", outputs.rows.size(),
                                 steps_.empty() ? 0 : steps_.front().size())};
    }
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    for (std::size_t i = 0; i < step.size(); ++i) {
        const PendingOutput& pending = step[i];
        if (pending.slot)
            free_slots_.push_back(*pending.slot); // rows that read it have been submitted
        const auto found = sequences_.find(pending.sequence);
        if (found == sequences_.end())
            continue; // surplus row: the request has ended
        Sequence& sequence = found->second;
        Status status;
        const bool is_accepted = draft_accepted(sequence, pending);
        // A constraint may have forced the token after a draft.
        const bool is_new = !pending.draft || pending.position + 1 == sequence.length();
        if (is_accepted && is_new)
            status = take_output(sequence, pending, outputs.rows[i], updates, now);
        resolve_drafts(step, i);
        if (!status && outputs.rows[i].error) {
            fail(sequence, status.error(), updates, now); // the others continue
        } else {
            ETNA_CHECK(end_if_own_fault(sequence, status, updates, now));
        }
    }
    return {};
}

/// Ends a sequence whose own request caused a failure; the others continue. Errors: any other failure.
Status Scheduler::end_if_own_fault(Sequence& sequence, const Status& status, Updates& updates,
                                   Clock::time_point now) {
    if (status)
        return {};
    const ErrorKind kind = status.error().kind;
    const bool is_own_fault = kind == ErrorKind::invalid_argument || kind == ErrorKind::unsupported ||
                              kind == ErrorKind::out_of_memory; // of its constraint
    if (!is_own_fault)
        return status;
    fail(sequence, status.error(), updates, now);
    return {};
}

/// Reads the output of a row. Errors: those of the row, of read_token() and of constraints; the sequence
/// still exists then.
Status Scheduler::take_output(Sequence& sequence, const PendingOutput& pending, const RowOutput& output,
                              Updates& updates, Clock::time_point now) {
    const uint32_t position = pending.position;
    if (output.error)
        return *output.error;
    if (position + 1 < sequence.prompt_tokens) {
        const TokenEvent prompt_token = read_prompt_logprob(output, sequence, position);
        for (uint32_t answer = 0; answer < answers_of(sequence.id.request); ++answer)
            emit(updates, sequence.id.request, answer, prompt_token);
        return {};
    }
    ETNA_TRY(const bool has_tokens, constraints_.has_results(sequence, Constraint::Part::tokens));
    if (!has_tokens) {
        park(sequence, pending, output);
        return {};
    }
    if (!sequence.first_token)
        sequence.first_token = now;
    if (sequence.continuations > 0)
        return store_continuations(sequence, output, position, updates, now);
    ETNA_TRY(TokenEvent token, read_token(output, sequence, position, limits_, sampler_));
    sequence.pending_samples -= pending.draft ? 0 : 1;
    return accept(sequence, std::move(token), updates, now);
}

/// Appends a sampled token, or ends the sequence if it is an end token. Errors: as finish_or_force().
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
    sequence.constraint_state.forced.reset();
    emit(updates, sequence.id.request, 0, std::move(token));
    return finish_or_force(sequence, updates, now);
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
    emit(updates, request, 0, std::move(finished));
}

/// Releases everything that a sequence holds, and removes it. `error`: the error that ended it; null: none.
void Scheduler::retire(Sequence& sequence, const Error* error) {
    if (error != nullptr && error->kind == ErrorKind::internal) {
        cache_.invalidate(sequence.pages); // later requests must not match invalid content
    } else {
        cache_.publish_all(sequence.pages, sequence.content(),
                           std::min(sequence.computed_tokens, sequence.length()));
    }
    cache_.release(sequence.pages);
    constraints_.dispose(sequence);
    admission_.remove(sequence);
    sequences_.erase(SequenceId(sequence.id)); // a copy, because the key is destroyed with the sequence
}

void Scheduler::emit(Updates& updates, RequestId request, uint32_t answer, Event event) {
    Update& update = updates.emplace_back();
    update.request = request;
    update.answer = answer;
    update.event = std::move(event);
}

Status Scheduler::verify() const {
    const std::vector<Sequence*>& running = admission_.running();
    std::vector<const PageTables*> tables;
    for (const auto& [id, sequence] : sequences_) {
        const bool is_running = std::find(running.begin(), running.end(), &sequence) != running.end();
        const bool is_waiting = admission_.waiting().contains(sequence);
        if (is_running == is_waiting)
            return broken(sequence, "is in both lists, or in neither");
        ETNA_CHECK(verify_sequence(sequence, is_running));
        tables.push_back(&sequence.pages);
    }
    if (running.size() + admission_.waiting().size() != sequences_.size())
        return Error{ErrorKind::internal, "a list of sequences has a duplicate, or one that ended"};
    std::vector<bool> slot_is_used(limits_.slots);
    std::size_t used = free_slots_.size();
    for (const uint32_t slot : free_slots_)
        slot_is_used[slot] = true;
    for (const Step& step : steps_) {
        for (const PendingOutput& pending : step) {
            if (!pending.slot)
                continue;
            slot_is_used[*pending.slot] = true;
            ++used;
        }
    }
    if (used != limits_.slots ||
        std::find(slot_is_used.begin(), slot_is_used.end(), false) != slot_is_used.end())
        return Error{ErrorKind::internal, "a slot is lost, or used twice"};
    return cache_.verify(tables);
}

} // namespace etna::engine
