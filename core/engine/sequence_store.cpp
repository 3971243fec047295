#include "core/engine/sequence_store.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::engine {
namespace {

Error broken(const Sequence& sequence, const char* what) {
    return {ErrorKind::internal,
            fmt::format("request {} {}: {} tokens, {} computed, {} samples pending", sequence.id.request,
                        what, sequence.length(), sequence.computed_tokens, sequence.pending_samples)};
}

Status verify_sequence(const Sequence& sequence, bool is_running) {
    const bool holds_pages = sequence.held.recurrent.slot != no_state_slot ||
                             std::any_of(sequence.held.groups.begin(), sequence.held.groups.end(),
                                         [](const auto& table) { return !table.empty(); });
    const bool should_run =
        sequence.state == SequenceState::prefill || sequence.state == SequenceState::decode;
    if (is_running != should_run || is_running != holds_pages)
        return broken(sequence, "has pages or a running state that contradict each other");
    if (sequence.kinds.size() != sequence.tokens.size())
        return broken(sequence, "has more or fewer row kinds than tokens");
    if (sequence.computed_tokens > sequence.expected_length() + sequence.drafts_in_flight() ||
        sequence.length() >=
            sequence.length_max + (sequence.constraint_state.waits || sequence.request->hidden ? 1 : 0))
        return broken(sequence, "exceeds its maximum length");
    return {};
}

/// Number of a sequence's tokens that are known and whose rows are scheduled; rows of drafts count once they
/// are accepted.
uint32_t computed_length(const Sequence& sequence) {
    uint32_t computed = sequence.computed_tokens;
    if (sequence.drafts_in_flight() > 0)
        computed -= sequence.draft_state->in_flight - sequence.draft_state->step_accepted;
    return std::min(computed, sequence.length());
}

} // namespace

Sequence& SequenceStore::add(Sequence sequence) {
    const SequenceId id = sequence.id;
    const auto [entry, is_new] = sequences_.emplace(id, std::move(sequence));
    assert(is_new);
    admission_.add(entry->second);
    return entry->second;
}

Sequence& SequenceStore::fork(const Sequence& parent, uint32_t branch) {
    Sequence& child = add(parent.fork({.request = parent.id.request, .branch = branch}, cache_));
    if (child.state == SequenceState::decode && admission_.has_capacity() && cache_.has_state(child.held)) {
        admission_.start(child);
    } else {
        release(child);
    }
    return child;
}

/// Releases a sequence's pages and queues it; all its rows are to be computed again.
void SequenceStore::release(Sequence& sequence) {
    cache_.release(sequence.held);
    sequence.computed_tokens = 0;
    sequence.state = SequenceState::waiting;
}

void SequenceStore::preempt(Sequence& sequence) {
    admission_.stop(sequence);
    cache_.publish_all(sequence.held, sequence.content(), computed_length(sequence));
    ++preemptions_;
    release(sequence);
}

bool SequenceStore::preempt_idle() {
    Sequence* const one = admission_.idle_sequence();
    if (one != nullptr)
        preempt(*one);
    return one != nullptr;
}

void SequenceStore::retire(Sequence& sequence, const Error* error) {
    if (error != nullptr && error->kind == ErrorKind::internal) {
        cache_.invalidate(sequence.held); // later requests must not match invalid content
    } else {
        cache_.publish_all(sequence.held, sequence.content(), computed_length(sequence));
    }
    cache_.release(sequence.held);
    constraints_.dispose(sequence);
    admission_.remove(sequence);
    sequences_.erase(SequenceId(sequence.id)); // a copy, because the key is destroyed with the sequence
}

void SequenceStore::retire_all(RequestId request, const Error* error) {
    while (Sequence* const one = first_of(request))
        retire(*one, error);
}

void SequenceStore::advance_windows() {
    for (Sequence* sequence : admission_.running()) {
        const bool has_drafts =
            sequence->drafts_in_flight() > 0; // recomputed from the last token on if rejected
        cache_.advance(sequence->held, has_drafts ? sequence->length() - 1 : sequence->computed_tokens);
    }
}

void SequenceStore::publish_running() {
    for (Sequence* sequence : admission_.running())
        cache_.publish(sequence->held, sequence->content(), computed_length(*sequence));
}

void SequenceStore::set_backpressure(RequestId request, Backpressure backpressure) {
    for (auto one = sequences_.lower_bound({.request = request});
         one != sequences_.end() && one->first.request == request; ++one)
        one->second.backpressure = backpressure;
}

const Sequence* SequenceStore::find(SequenceId id) const {
    const auto found = sequences_.find(id);
    return found == sequences_.end() ? nullptr : &found->second;
}

Sequence* SequenceStore::find(SequenceId id) {
    const auto found = sequences_.find(id);
    return found == sequences_.end() ? nullptr : &found->second;
}

const Sequence* SequenceStore::first_of(RequestId request) const {
    const auto found = sequences_.lower_bound({.request = request});
    return found == sequences_.end() || found->first.request != request ? nullptr : &found->second;
}

Sequence* SequenceStore::first_of(RequestId request) {
    const auto found = sequences_.lower_bound({.request = request});
    return found == sequences_.end() || found->first.request != request ? nullptr : &found->second;
}

Status SequenceStore::verify() const {
    const std::vector<Sequence*>& running = admission_.running();
    std::vector<const HeldState*> tables;
    for (const auto& [id, sequence] : sequences_) {
        const bool is_running = std::find(running.begin(), running.end(), &sequence) != running.end();
        const bool is_waiting = admission_.waiting().contains(sequence);
        if (is_running == is_waiting)
            return broken(sequence, "is in both lists, or in neither");
        ETNA_CHECK(verify_sequence(sequence, is_running));
        tables.push_back(&sequence.held);
    }
    if (running.size() + admission_.waiting().size() != sequences_.size())
        return Error{ErrorKind::internal, "a list of sequences has a duplicate, or one that ended"};
    return cache_.verify(tables);
}

} // namespace etna::engine
