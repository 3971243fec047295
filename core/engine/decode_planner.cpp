#include "core/engine/decode_planner.hpp"

#include <algorithm>
#include <vector>

namespace etna::engine {

void DecodePlanner::plan(Updates& updates, Clock::time_point now) {
    const std::vector<Sequence*>& running = admission_.running();
    for (std::size_t i = 0; i < running.size();) {
        Sequence& sequence = *running[i];
        if (!can_generate(sequence)) {
            ++i;
            continue;
        }
        if (!reserve_page(i, updates, now)) {
            i += i < running.size() && running[i] == &sequence ? 1 : 0; // otherwise the next one is at i
            continue;
        }
        ++i;
        const uint32_t count = reserve_rows(sequence);
        drafts_.reserve(sequence);
        builder_.append_rows(sequence, count);
        admission_.charge(sequence.request->client, count);
        drafts_.append_rows(sequence);
    }
}

/// Whether a sequence decodes, and its next row has an input, room for its output, and a use.
bool DecodePlanner::can_generate(const Sequence& sequence) const {
    if (sequence.state != SequenceState::decode || sequence.backpressure == Backpressure::on ||
        sequence.constraint_state.waits)
        return false;
    const uint32_t position = sequence.computed_tokens;
    const bool is_known = position < sequence.length();
    const bool has_input = is_known || (position < sequence.expected_length() && sequence.slot);
    // A constraint may force the token that follows an unread one. A row that reads the unread token is right
    // even so; one further ahead might read another token than the forced one.
    const bool is_far_ahead = sequence.constraint != nullptr && sequence.pending_samples > 1;
    if (!is_known && (is_far_ahead || drafts_.needs_all_tokens(sequence)))
        return false;
    return has_input && builder_.has_output_for(sequence) && position + 1 < sequence.length_max;
}

/// Reserves the rows of a decoding sequence and returns their number: one, and more if a constraint forced
/// several tokens at once and rows and pages for them are available.
uint32_t DecodePlanner::reserve_rows(Sequence& sequence) {
    if (sequence.computed_tokens + 1 >= sequence.length())
        return 1;
    const uint32_t count = std::min(sequence.length() - sequence.computed_tokens, builder_.spare_rows() + 1);
    const auto spare = static_cast<uint32_t>(admission_.running().size());
    if (!cache_.reserve(sequence.held, sequence.computed_tokens, sequence.computed_tokens + count, spare,
                        builder_.copies()))
        return 1;
    builder_.take_spare_rows(count - 1);
    return count;
}

/// Reserves a page for the next row of admission_.running()[index], preempting sequences from `index` on if
/// necessary: they have no rows in this batch yet. Returns false if the sequence itself was preempted, or has
/// used up the memory.
bool DecodePlanner::reserve_page(std::size_t index, Updates& updates, Clock::time_point now) {
    Sequence& sequence = *admission_.running()[index];
    while (!cache_.reserve(sequence.held, sequence.computed_tokens, sequence.computed_tokens + 1, 0,
                           builder_.copies())) {
        if (admission_.running().size() > 1) {
            Sequence& victim = admission_.last_served(index);
            store_.preempt(victim);
            if (&victim == &sequence)
                return false;
            continue;
        }
        sequence.length_max = sequence.expected_length(); // pending samples still arrive
        if (sequence.pending_samples == 0)
            finisher_.end(sequence, FinishReason::length, updates, now);
        return false;
    }
    return true;
}

} // namespace etna::engine
