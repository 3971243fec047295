#include "core/engine/scheduler.hpp"

#include "core/engine/wanted.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
Scheduler::Scheduler(const Limits& limits, const SchedulerOptions& options)
    : limits_(limits), cache_(limits, options.hash_key, options.model_salt),
      prefill_rows_max_(limits.batch_rows_max) {
    // With these limits a decoding sequence always finds a row, an output and, mostly, a slot.
    running_max_ = std::min({limits.sequences_max, limits.batch_rows_max, limits.output_rows_max,
                             std::max(limits.slots / limits.in_flight_max, 1U)});
    for (uint32_t slot = limits.slots; slot > 0; --slot)
        free_slots_.push_back(slot - 1);
}

void Scheduler::add(RequestId id, Request request, Clock::time_point now, std::optional<RequestId> caller) {
    assert(sequences_.empty() || sequences_.rbegin()->first.request < id);
    const std::optional<BeamOptions> beams = request.beams;
    if (request.speculation && !has_draft_model_)
        request.speculation->uses_model = false;
    const SequenceId first = {.request = id};
    const auto [entry, is_new] =
        sequences_.emplace(first, make_sequence(id, std::move(request), limits_, cache_, now));
    assert(is_new);
    entry->second.caller = caller.value_or(id);
    shares_.enter(entry->second.client);
    waiting_.insert(entry->second);
    if (beams)
        begin_beams(*beams, entry->second);
}

const Batch& Scheduler::schedule(Updates& updates, Clock::time_point now) {
    batch_.copies.clear();
    batch_.sequences.clear();
    batch_.rows.clear();
    Step step;
    go_on_with_stalled(updates, now);
    spare_rows_ = rows_for_drafts();
    share_places();
    schedule_generation(step, updates, now);
    schedule_prompts(step, updates, now);
    shares_.end_batch();
    for (Sequence* sequence : running_) {
        cache_.publish(sequence->pages, sequence->content(),
                       std::min(sequence->computed, sequence->length()));
    }
    cache_.end_batch();
    if (!batch_.rows.empty())
        steps_.push_back(std::move(step));
    return batch_;
}

bool Scheduler::samples_on_device(const Sequence& sequence) const {
    return wish_of(sequence, sequence.expected_length() - 1, limits_).output_kind == OutputKind::sampled;
}

/// Whether the next row has an input, room for its output, and a use.
bool Scheduler::can_generate(const Sequence& sequence) const {
    const uint32_t index = sequence.computed;
    if (sequence.following.waits)
        return false;
    const bool is_known = index < sequence.length();
    const bool has_input = is_known || (index < sequence.expected_length() && sequence.slot);
    if (!is_known && sequence.drafting && !sequence.drafting->is_paused() && rows_for_drafts() > 0)
        return false; // its token continues the text that is drafted from
    const bool has_output = !samples_on_device(sequence) || !free_slots_.empty();
    return has_input && has_output && index + 1 < sequence.length_max;
}

void Scheduler::schedule_generation(Step& step, Updates& updates, Clock::time_point now) {
    for (std::size_t i = 0; i < running_.size();) {
        Sequence& sequence = *running_[i];
        if (sequence.state != SequenceState::decode || sequence.pace == Pace::hold ||
            !can_generate(sequence)) {
            ++i;
            continue;
        }
        if (!find_page(i, updates, now)) {
            i += i < running_.size() && running_[i] == &sequence ? 1 : 0; // otherwise the next one is at i
            continue;
        }
        ++i;
        const uint32_t known = reserve_known(sequence);
        reserve_drafts(sequence);
        append_rows(sequence, known, step);
        append_drafts(sequence, step);
    }
}

/// Returns the number of rows that a decoding sequence gets: one, and more for tokens that became known at
/// once, if there are rows and pages for them.
uint32_t Scheduler::reserve_known(Sequence& sequence) {
    if (sequence.computed + 1 >= sequence.length())
        return 1;
    const uint32_t count = std::min(sequence.length() - sequence.computed, spare_rows_ + 1);
    const auto spare = static_cast<uint32_t>(running_.size());
    if (!cache_.reserve(sequence.pages, sequence.computed, sequence.computed + count, spare, batch_.copies))
        return 1;
    spare_rows_ -= count - 1;
    return count;
}

/// Finds a page for the next row of running_[place], by preempting sequences at or after it if need be: they
/// have no rows in this batch yet. Returns false if the sequence itself was preempted, or has used up the
/// memory.
bool Scheduler::find_page(std::size_t place, Updates& updates, Clock::time_point now) {
    Sequence& sequence = *running_[place];
    while (!cache_.reserve(sequence.pages, sequence.computed, sequence.computed + 1, 0, batch_.copies)) {
        if (running_.size() > 1) {
            Sequence& yielding = first_to_yield(place);
            preempt(yielding);
            if (&yielding == &sequence)
                return false;
            continue;
        }
        sequence.length_max = sequence.expected_length(); // unread samples still arrive
        if (sequence.unread == 0)
            end(sequence, FinishReason::length, updates, now);
        return false;
    }
    return true;
}

/// Returns, among running_ from index `first` on, the youngest sequence of the client that is served last.
Sequence& Scheduler::first_to_yield(std::size_t first) const {
    return **std::max_element(
        running_.begin() + static_cast<std::ptrdiff_t>(first), running_.end(),
        [this](const Sequence* a, const Sequence* b) { return is_served_before(*a, *b); });
}

bool Scheduler::is_served_before(const Sequence& a, const Sequence& b) const {
    return a.client == b.client ? a.id < b.id : shares_.comes_before(a.client, b.client);
}

/// Schedules prompt rows, of running and waiting sequences, in the order of their clients: a waiting request
/// is admitted before the running prompts of a client that comes after its own take the rest of the batch.
void Scheduler::schedule_prompts(Step& step, Updates& updates, Clock::time_point now) {
    lacks_pages_ = false;
    const auto rows = static_cast<uint32_t>(batch_.rows.size());
    prefill_end_ = std::min(limits_.batch_rows_max, rows + prefill_rows_max_);
    prompts_.clear();
    for (Sequence* sequence : running_) {
        if (sequence->state == SequenceState::prefill)
            prompts_.push_back(sequence);
    }
    std::sort(prompts_.begin(), prompts_.end(),
              [this](const Sequence* a, const Sequence* b) { return is_served_before(*a, *b); });
    for (std::size_t place = 0; place < prompts_.size(); ++place) {
        place = admit_waiting(place, step, updates, now);
        schedule_known(*prompts_[place], step);
    }
    admit_waiting(prompts_.size(), step, updates, now);
}

/// The maximum number of rows for known tokens that the sequences after this one can use.
uint32_t Scheduler::known_rows_behind(const Sequence& sequence) const {
    uint32_t rows = 0;
    for (auto one = prompts_.rbegin(); one != prompts_.rend() && *one != &sequence; ++one)
        rows += (*one)->length() - (*one)->computed;
    std::size_t places = running_max_ - running_.size();
    std::size_t pages = running_.size(); // pages that stay spare
    const auto is_available = [&](const PagePool& pool) { return pool.available() >= pages; };
    for (const auto& [client, line] : waiting_.lines()) {
        for (auto one = line.begin(); one != line.end() && places > 0; ++one) {
            if ((*one)->pace == Pace::hold || (*one)->is_answered || (*one)->unread > 0 ||
                (*one)->following.waits)
                continue;
            pages += divide_up((*one)->length(), limits_.page_tokens);
            if (!std::all_of(cache_.pools().begin(), cache_.pools().end(), is_available))
                return rows; // it cannot be admitted, and rows left to it would be unused
            rows += (*one)->length();
            --places;
        }
    }
    return rows;
}

/// The number of rows for known tokens that fit, limited so that a long prompt does not block all others to
/// its end.
uint32_t Scheduler::known_rows(const Sequence& sequence, const Step& step) const {
    auto room = prefill_end_ - static_cast<uint32_t>(batch_.rows.size());
    if (sequence.length() - sequence.computed > room) // it takes several batches anyway
        room -= std::min(room / 2, known_rows_behind(sequence));
    const auto wishes = limits_.output_rows_max - static_cast<uint32_t>(step.size());
    uint32_t end = sequence.length();
    if (wishes == 0 || (samples_on_device(sequence) && free_slots_.empty()))
        --end; // the last row has an output, and waits for room for it
    const uint32_t first_score = std::max(sequence.computed, sequence.unscored);
    if (sequence.scores(first_score)) // half of the outputs, so that others do not wait for the entire prompt
        end = std::min(end, first_score + divide_up(wishes, 2));
    return std::min(room, end - sequence.computed);
}

/// Schedules rows for known tokens, as many as fit. Their pages were allocated on admission.
void Scheduler::schedule_known(Sequence& sequence, Step& step) {
    append_rows(sequence, known_rows(sequence, step), step);
    if (sequence.computed == sequence.length())
        sequence.state = SequenceState::decode;
}

void Scheduler::append_rows(Sequence& sequence, uint32_t count, Step& step) {
    if (count == 0)
        return;
    shares_.charge(sequence.client, count);
    const auto view_index = static_cast<uint32_t>(batch_.sequences.size());
    SequenceView& view = batch_.sequences.emplace_back();
    view.pages.assign(sequence.pages.groups.begin(), sequence.pages.groups.end());
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t index = sequence.computed++;
        Row& row = batch_.rows.emplace_back();
        row.kind = sequence.kind(index);
        row.sequence = view_index;
        row.index = index;
        row.position.fill(index);
        row.input = index < sequence.length() ? RowInput::token : RowInput::slot;
        row.value = index < sequence.length() ? sequence.tokens[index] : *sequence.slot;
        if (index + 1 == sequence.expected_length()) {
            want_output(sequence, row, step);
        } else if (sequence.scores(index)) {
            want_score(sequence, row, step);
        }
    }
}

void Scheduler::want_score(Sequence& sequence, Row& row, Step& step) {
    row.output_kind = OutputKind::logits;
    row.candidates = std::min(sequence.prompt_candidates, limits_.vocabulary);
    sequence.unscored = row.index + 1;
    step.push_back({.sequence = sequence.id, .index = row.index});
}

void Scheduler::want_output(Sequence& sequence, Row& row, Step& step) {
    const Wish wish = wish_of(sequence, row.index, limits_);
    row.output_kind = wish.output_kind;
    row.candidates = wish.candidates;
    sequence.slot.reset();
    if (row.output_kind == OutputKind::sampled) {
        row.sampling = sequence.sampling;
        row.output_slot = free_slots_.back();
        free_slots_.pop_back();
        sequence.slot = row.output_slot;
    }
    ++sequence.unread;
    step.push_back({.sequence = sequence.id, .index = row.index, .slot = sequence.slot});
}

void Scheduler::set_pace(RequestId id, Pace pace) {
    for (auto one = sequences_.lower_bound({.request = id});
         one != sequences_.end() && one->first.request == id; ++one)
        one->second.pace = pace;
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
    return sequence.length() - std::min(sequence.computed, sequence.length());
}

bool Scheduler::holds_any() const {
    return std::any_of(sequences_.begin(), sequences_.end(),
                       [](const auto& entry) { return entry.second.pace == Pace::hold; });
}

} // namespace etna::engine
