#include "core/engine/prefill_planner.hpp"

#include <algorithm>

namespace etna::engine {

void PrefillPlanner::rebalance() {
    if ((admission_.has_capacity() && !lacks_pages_) || admission_.idle_sequence() != nullptr)
        return;
    const Sequence* const next = admission_.next();
    if (Sequence* const victim = next == nullptr ? nullptr : admission_.victim_for(*next); victim != nullptr)
        store_.preempt(*victim);
}

void PrefillPlanner::plan(Updates& updates, Clock::time_point now) {
    lacks_pages_ = false;
    rows_end_ = std::min(limits_.batch_rows_max, builder_.row_count() + rows_max_);
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
uint32_t PrefillPlanner::rows_for(const Sequence& sequence) const {
    uint32_t rows = rows_left();
    if (sequence.length() - sequence.computed_tokens > rows) // it takes several batches anyway
        rows -= std::min(rows / 2, rows_after(sequence));
    uint32_t end = sequence.length();
    if (!builder_.has_output_for(sequence))
        --end; // the last row produces an output, for which this batch has no capacity
    const uint32_t unscored = std::max(sequence.computed_tokens, sequence.unscored);
    if (sequence.needs_prompt_logprob(unscored)) // half of the outputs, so that other sequences get some
        end = std::min(end, unscored + divide_up(builder_.outputs_left(), 2));
    return std::min(rows, end - sequence.computed_tokens);
}

/// Schedules as many rows of prompts_[index] as fit. Full groups have their pages since the admission; pages
/// with a window are reserved here. If there are none, later prompts, which have no rows in this batch yet,
/// are preempted, and at last itself.
void PrefillPlanner::continue_prompt(std::size_t index) {
    Sequence& sequence = *prompts_[index];
    const uint32_t begin = sequence.computed_tokens;
    const uint32_t count = rows_for(sequence);
    while (count > 0 && !cache_.reserve(sequence.pages, begin, begin + count, 0, builder_.copies())) {
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
    builder_.append_rows(sequence, count);
    admission_.charge(sequence.client, count);
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
        if (!allocate_pages(sequence)) {
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
bool PrefillPlanner::allocate_pages(Sequence& sequence) {
    const uint32_t length = sequence.length();
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    const uint32_t limit = sequence.needs_prompt_logprob(sequence.unscored) ? sequence.unscored : length - 1;
    // The second attempt excludes the page that would be copied for a few rows only.
    for (const bool copies : {true, false}) {
        const uint32_t positions_max = copies ? limit : limit / limits_.page_tokens * limits_.page_tokens;
        uint32_t cached = cache_.match_prefix(sequence.pages, sequence.content(), positions_max);
        if (copies && cached < positions_max)
            cached += cache_.match_partial_page(sequence.pages, sequence.content(), cached, positions_max);
        if (cache_.reserve(sequence.pages, cached, length, spare, builder_.copies())) {
            sequence.computed_tokens = cached;
            return true;
        }
        cache_.release(sequence.pages);
    }
    return false;
}

} // namespace etna::engine
