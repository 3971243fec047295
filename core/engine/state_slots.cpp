#include "core/engine/state_slots.hpp"

#include <algorithm>
#include <cassert>

namespace etna::engine {
namespace {

/// Maximum entries of PageBranches per slot, those of evicted snapshots included, before it is pruned.
constexpr std::size_t branches_per_slot_max = 2;

/// Free slots that a snapshot leaves for the next sequence.
constexpr uint32_t slots_for_admission = 1;

} // namespace

PageHash StateSlots::hash_of(const PageHash& parent, const ContentRun& rest) const {
    return rest.ids.empty() ? parent : page_hash(key_, parent, rest);
}

std::optional<StateSlots::Found> StateSlots::find(const PageHash& parent, const ContentRun& rest) const {
    const auto found = snapshots_.longest_whole(
        parent, rest, [this](const PageHash& hash) { return pool_.find(hash).has_value(); });
    if (!found)
        return std::nullopt;
    return Found{.slot = *pool_.find(found->hash), .hash = found->hash, .positions = found->positions};
}

void StateSlots::use(HeldSlot& held, const Found& snapshot, uint32_t position) {
    assert(held.slot == no_state_slot && held.source == no_state_slot);
    pool_.retain(snapshot.slot);
    held.source = snapshot.slot;
    held.snapshots.push_back(snapshot.hash);
    held.position = position;
    held.snapshot_position = position;
}

bool StateSlots::reserve(HeldSlot& held) {
    if (held.slot != no_state_slot || !exist())
        return true;
    const auto slot = allocate();
    if (!slot)
        return false;
    held.slot = *slot;
    if (held.source == no_state_slot) {
        held.position = 0;
        return true;
    }
    queue_copy(held.source, held.slot);
    pool_.release(held.source);
    held.source = no_state_slot;
    return true;
}

HeldSlot StateSlots::fork(const HeldSlot& held) {
    HeldSlot copy;
    const auto slot = held.slot == no_state_slot ? std::nullopt : allocate();
    if (!slot)
        return copy;
    copy.slot = *slot;
    copy.position = held.position;
    queue_copy(held.slot, copy.slot);
    return copy;
}

void StateSlots::snapshot(HeldSlot& held, const PageHash& parent, const ContentRun& rest) {
    const PageHash hash = hash_of(parent, rest);
    held.snapshot_position = held.position;
    if (pool_.find(hash) || pool_.available() <= slots_for_admission)
        return;
    const StateSlot slot = *pool_.allocate();
    queue_copy(held.slot, slot);
    add(slot, hash, parent, rest);
    pool_.release(slot);
    held.snapshots.push_back(hash);
}

void StateSlots::publish(const HeldSlot& held, const PageHash& parent, const ContentRun& rest) {
    const PageHash hash = hash_of(parent, rest);
    if (held.slot != no_state_slot && !pool_.find(hash))
        add(held.slot, hash, parent, rest);
}

void StateSlots::add(StateSlot slot, const PageHash& hash, const PageHash& parent, const ContentRun& rest) {
    pool_.publish(slot, hash);
    snapshots_.add(parent, hash, rest);
    if (snapshots_.size() > branches_per_slot_max * pool_.page_count())
        snapshots_.prune([this](const PageHash& known) { return pool_.find(known).has_value(); });
}

void StateSlots::invalidate(const HeldSlot& held) {
    for (const PageHash& hash : held.snapshots) {
        if (const auto slot = pool_.find(hash))
            pool_.invalidate(*slot);
    }
}

void StateSlots::release(HeldSlot& held) {
    if (held.source != no_state_slot)
        pool_.release(held.source);
    if (held.slot != no_state_slot)
        pool_.release(held.slot);
    held = {};
}

/// Returns a slot with one reference; drops queued copies that no sequence needs, if that frees one.
std::optional<StateSlot> StateSlots::allocate() {
    if (const auto slot = pool_.allocate())
        return slot;
    std::erase_if(copies_, [this](const StateCopy& copy) {
        if (pool_.references(copy.to) > 1)
            return false;
        pool_.invalidate(copy.to);
        pool_.release(copy.to);
        pool_.release(copy.from);
        return true;
    });
    return pool_.allocate();
}

void StateSlots::queue_copy(StateSlot from, StateSlot to) {
    const auto same =
        std::find_if(copies_.begin(), copies_.end(), [&](const StateCopy& copy) { return copy.to == from; });
    if (same != copies_.end())
        from = same->from; // `from` is not written yet
    pool_.retain(from);
    pool_.retain(to);
    copies_.push_back({.from = from, .to = to});
}

void StateSlots::take_copies(std::vector<StateCopy>& copies) {
    for (const StateCopy& copy : copies_) {
        pool_.release(copy.from);
        pool_.release(copy.to);
    }
    copies.insert(copies.end(), copies_.begin(), copies_.end());
    copies_.clear();
}

Status StateSlots::verify(std::span<const HeldSlot* const> sequences) const {
    std::vector<uint32_t> references(pool_.page_count());
    const auto count = [&](StateSlot slot) {
        if (slot != no_state_slot)
            ++references[slot];
    };
    for (const HeldSlot* held : sequences) {
        count(held->slot);
        count(held->source);
    }
    for (const StateCopy& copy : copies_) {
        count(copy.from);
        count(copy.to);
    }
    return pool_.verify(references);
}

} // namespace etna::engine
