#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/content.hpp"
#include "core/engine/page_branches.hpp"
#include "core/engine/page_hash.hpp"
#include "core/engine/page_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// One sequence's recurrent state.
struct HeldSlot {
    StateSlot slot = no_state_slot;       ///< the sequence's own; one reference
    StateSlot source = no_state_slot;     ///< a snapshot that reserve() copies into `slot`; one reference
    uint32_t position = 0;                ///< the state in `slot`, or in `source`, covers [0, position)
    uint32_t snapshot_position = 0;       ///< position of the last snapshot used or taken
    std::vector<PageHash> snapshots = {}; ///< hashes of the snapshots used and taken
};

/// The slots of recurrent state: each running sequence owns one, and the others hold snapshots, found by the
/// content that they cover and evicted least recently used first. A published slot is never written.
///
/// A state cannot be rolled back, so a prefix is found only at a snapshot. Drafted rows stay pending until
/// they are accepted or rejected (StateUpdate::defer).
///
/// Copies are queued for the next batch that has rows: they run before its rows, in any order. Their sources
/// and targets stay referenced until that batch. Not thread-safe.
class StateSlots {
public:
    /// `count`: Limits::state_slots; 0: the model has no recurrent layers, and nothing is ever found.
    StateSlots(uint32_t count, const HashKey& key) : key_(key), pool_(count) {}

    [[nodiscard]] bool exist() const { return pool_.page_count() > 0; }

    struct Found {
        StateSlot slot = 0;
        PageHash hash{};
        uint32_t positions = 0; ///< after the parent page
    };
    /// Returns the snapshot that covers the page `parent`, everything before it, and the most leading
    /// positions of `rest`; these are fewer than a page.
    [[nodiscard]] std::optional<Found> find(const PageHash& parent, const ContentRun& rest) const;

    /// Lets a sequence without a slot continue from a snapshot that covers [0, position).
    void use(HeldSlot& held, const Found& snapshot, uint32_t position);

    /// Gives a sequence its own slot, if it has none. Returns false and changes nothing if all slots are
    /// referenced.
    bool reserve(HeldSlot& held);

    /// Returns the state for a second sequence with the same past; without a slot if all are referenced.
    HeldSlot fork(const HeldSlot& held);

    /// Takes a snapshot of a sequence's state, which covers `parent` and `rest`; none if it exists already,
    /// or if it would take the last slot that a new sequence can get. Precondition: nothing is pending.
    void snapshot(HeldSlot& held, const PageHash& parent, const ContentRun& rest);

    /// Publishes a sequence's own slot, which it will not write again, as a snapshot.
    void publish(const HeldSlot& held, const PageHash& parent, const ContentRun& rest);

    /// Removes the snapshots that a sequence used and took from the index, because their content is invalid.
    void invalidate(const HeldSlot& held);

    /// Releases everything that a sequence holds.
    void release(HeldSlot& held);

    /// Moves the queued copies to a batch.
    void take_copies(std::vector<StateCopy>& copies);

    [[nodiscard]] const PagePool& pool() const { return pool_; }

    /// Checks the pool against every sequence that exists. Errors: internal, naming the slot.
    [[nodiscard]] Status verify(std::span<const HeldSlot* const> sequences) const;

private:
    [[nodiscard]] PageHash hash_of(const PageHash& parent, const ContentRun& rest) const;
    void add(StateSlot slot, const PageHash& hash, const PageHash& parent, const ContentRun& rest);
    std::optional<StateSlot> allocate();
    void queue_copy(StateSlot from, StateSlot to);

    HashKey key_;
    PagePool pool_; ///< each slot is a page that is never used partially
    PageBranches snapshots_;
    std::vector<StateCopy> copies_; ///< queued
};

} // namespace etna::engine
