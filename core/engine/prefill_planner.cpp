#include "core/engine/prefill_planner.hpp"

#include <algorithm>

namespace etna::engine {
namespace {

/// Distance of the snapshots of recurrent state in a long prompt.
constexpr uint32_t snapshot_interval = 4096;

/// The last full page of a prompt gets a snapshot if it saves a repeated prompt at least this many rows.
constexpr uint32_t snapshot_rows_min = 128;

} // namespace

void PrefillPlanner::rebalance() {
    if ((admission_.has_capacity() && !lacks_pages_) || admission_.idle_sequence() != nullptr)
        return;
    const Sequence* const next = admission_.next();
    if (Sequence* const victim = next == nullptr ? nullptr : admission_.victim_for(*next); victim != nullptr)
        store_.preempt(*victim);
}

void PrefillPlanner::plan(Updates& updates, Clock::time_point now) {
    lacks_pages_ = false;
    lacks_rows_ = false;
    rows_begin_ = builder_.row_count();
    rows_end_ = std::min(limits_.batch_rows_max, rows_begin_ + rows_max_);
    prompts_.clear();
    for (Sequence* sequence : admission_.running()) {
        if (sequence->state == SequenceState::prefill)
            prompts_.push_back(sequence);
    }
    std::sort(prompts_.begin(), prompts_.end(),
              [this](const Sequence* a, const Sequence* b) { return admission_.is_served_before(*a, *b); });
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
        i = admit_waiting(i, updates, now);
        continue_prompt(i);
    }
    admit_waiting(prompts_.size(), updates, now);
}

/// Returns the maximum number of prefill rows that the sequences after this one can use.
uint32_t PrefillPlanner::rows_after(const Sequence& sequence) const {
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

/// Returns the number of rows of a prompt that fit, limited so that a long prompt does not block all others
/// until it ends.
uint32_t PrefillPlanner::rows_for(const Sequence& sequence) {
    const uint32_t begin = sequence.computed_tokens;
    uint32_t rows = rows_left();
    if (sequence.length() - begin > rows) // it takes several batches anyway
        rows -= std::min(rows / 2, rows_after(sequence));
    uint32_t end = std::min(rows, sequence.length() - begin) + begin;
    if (!sequence.has_whole_segments())
        return end_of_rows(sequence, end) - begin;
    const uint32_t room = limits_.batch_rows_max - builder_.row_count();
    if (builder_.row_count() == rows_begin_) // the first prompt of the batch may exceed the budget
        end = std::max(end, std::min(sequence.length(), begin + room));
    end = sequence.whole_segments_end(begin, end_of_rows(sequence, end));
    lacks_rows_ = lacks_rows_ || end == begin;
    return end - begin;
}

/// Returns the end of a prompt's rows, at most `end`, for which the batch has outputs and embeddings, and
/// which recurrent layers can compute in one step.
uint32_t PrefillPlanner::end_of_rows(const Sequence& sequence, uint32_t end) const {
    const uint32_t begin = sequence.computed_tokens;
    if (end == sequence.length() && !builder_.has_output_for(sequence))
        --end; // the last row produces an output, for which this batch has no capacity
    const uint32_t first = std::max(begin, sequence.prompt_output_begin);
    if (!sequence.request->hidden &&
        sequence.needs_prompt_output(first)) { // half of the outputs, so that other sequences get some
        const uint32_t outputs = builder_.outputs_left();
        const bool is_whole = sequence.has_whole_segments();
        end = std::min(end, first + (is_whole ? outputs : divide_up(outputs, 2)));
    }
    uint32_t embeddings = builder_.embeddings_left();
    for (uint32_t position = begin; position < end && !sequence.request->embeddings.empty(); ++position) {
        if (sequence.tokens[position] == no_token && embeddings-- == 0)
            end = position;
    }
    if (limits_.state_slots > 0)
        end = std::min(sequence.same_kind_end(begin, end), next_snapshot(sequence, begin));
    return end;
}

/// Returns the next position after `begin` at which a snapshot of a prompt's recurrent state is taken:
/// branch positions, multiples of snapshot_interval, and the last full page, from which a repeated prompt
/// continues.
uint32_t PrefillPlanner::next_snapshot(const Sequence& sequence, uint32_t begin) const {
    uint32_t next = UINT32_MAX;
    const auto add = [&](uint32_t position) {
        position = sequence.whole_segments_end(0, position);
        if (position > begin)
            next = std::min(next, position);
    };
    const uint32_t length = sequence.length();
    const uint32_t last_page = (length - 1) / limits_.page_tokens * limits_.page_tokens;
    if (last_page >= sequence.held.recurrent.snapshot_position + snapshot_rows_min)
        add(last_page);
    add(std::min((begin / snapshot_interval + 1) * snapshot_interval, length));
    const std::vector<uint32_t>& branches = sequence.request->branch_positions;
    const auto branch = std::upper_bound(branches.begin(), branches.end(), begin);
    if (branch != branches.end() && *branch < length)
        add(*branch);
    return next;
}

/// Schedules as many rows of prompts_[index] as fit. Full groups have their pages since the admission; pages
/// with a window are reserved here. If there are none, later prompts, which have no rows in this batch yet,
/// are preempted, and at last itself.
void PrefillPlanner::continue_prompt(std::size_t index) {
    Sequence& sequence = *prompts_[index];
    const uint32_t begin = sequence.computed_tokens;
    const uint32_t count = rows_for(sequence);
    while (count > 0 && !cache_.reserve(sequence.held, begin, begin + count, 0, builder_.copies())) {
        Sequence& victim = *prompts_.back();
        prompts_.pop_back();
        store_.preempt(victim);
        lacks_pages_ = true;
        if (&victim == &sequence)
            return;
    }
    append_rows(sequence, count);
}

/// Schedules `count` rows of a prompt. Their pages are reserved.
void PrefillPlanner::append_rows(Sequence& sequence, uint32_t count) {
    const uint32_t begin = sequence.computed_tokens;
    if (count > 0 && limits_.state_slots > 0 && begin > sequence.held.recurrent.snapshot_position &&
        next_snapshot(sequence, begin - 1) == begin)
        cache_.snapshot(sequence.held, sequence.content());
    builder_.append_rows(sequence, count);
    admission_.charge(sequence.request->client, count);
    if (sequence.computed_tokens == sequence.length())
        sequence.state = SequenceState::decode;
}

/// Admits waiting requests while rows are left, each with the first rows of its prompt; only those of clients
/// that come before that of prompts_[index], if it exists. They are inserted before it. Returns its new
/// index.
std::size_t PrefillPlanner::admit_waiting(std::size_t index, Updates& updates, Clock::time_point now) {
    while (!lacks_pages_ && rows_left() > 0) {
        Sequence* const next = admission_.next();
        if (next == nullptr)
            return index;
        Sequence& sequence = *next;
        if (index < prompts_.size() && !admission_.is_admitted_before(sequence, *prompts_[index]))
            return index;
        // Its last row may be its only one, and a copied page must be written by rows of the same batch.
        if (!builder_.has_output_for(sequence))
            return index;
        if (!admission_.has_capacity() && !store_.preempt_idle())
            return index;
        if (sequence.pending_samples > 0)
            return index; // it was preempted, and its last tokens have not arrived
        const Allocation allocation = allocate_pages(sequence);
        if (allocation == Allocation::no_rows)
            return index;
        if (allocation == Allocation::no_pages) {
            if (store_.preempt_idle())
                continue;
            lacks_pages_ = !admission_.running().empty();
            if (lacks_pages_)
                return index;
            finisher_.end(sequence, FinishReason::length, updates, now); // it needs more pages than exist
            continue;
        }
        admission_.start(sequence);
        prompts_.insert(prompts_.begin() + static_cast<std::ptrdiff_t>(index++), &sequence);
        sequence.state = SequenceState::prefill;
        if (!sequence.admitted) {
            sequence.admitted = now;
            sequence.cached_tokens = sequence.computed_tokens;
        }
        append_rows(sequence, rows_for(sequence));
    }
    return index;
}

/// Allocates pages for all known tokens, as many as possible from the cache; at least one row is left to
/// compute, and all that return a prompt token's log-probability. Some pages stay free for decoding
/// sequences, so that the admitted one is not preempted at once.
PrefillPlanner::Allocation PrefillPlanner::allocate_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    const uint32_t limit = sequence.needs_prompt_output(sequence.prompt_output_begin)
                               ? sequence.prompt_output_begin
                               : length - 1;
    // The second attempt excludes the page that would be copied for a few rows only.
    for (const PartialPages partial : {PartialPages::share, PartialPages::skip}) {
        const uint32_t cached = cache_.find(sequence.held, sequence.content(), limit, partial);
        sequence.computed_tokens = cached;
        // A copied page must be written by rows of the same batch.
        const bool has_rows = !sequence.has_whole_segments() || rows_for(sequence) > 0;
        if (has_rows && cache_.reserve(sequence.held, cached, length, spare, builder_.copies()))
            return Allocation::done;
        sequence.computed_tokens = 0;
        cache_.release(sequence.held);
        if (!has_rows)
            return Allocation::no_rows;
    }
    return Allocation::no_pages;
}

} // namespace etna::engine
