#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/cache_journal.hpp"
#include "core/engine/content.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/page_branches.hpp"
#include "core/engine/page_hash.hpp"
#include "core/engine/page_pool.hpp"
#include "core/engine/state_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace etna::engine {

/// The part of the cache that one sequence references: its pages, and the slot of its recurrent state. Each
/// entry of a table is one reference in the group's pool.
struct HeldState {
    /// [group][page of the sequence]; pages that left a group's window are `no_page`
    std::vector<std::vector<PageId>> groups;
    std::vector<uint32_t> first_held; ///< [group], the first page that is not `no_page`
    std::vector<PageHash> hashes;     ///< of the leading full pages that were published or matched
    PageHash root{};                  ///< parent of the first page
    HeldSlot recurrent;

    [[nodiscard]] std::span<const PageId> pages_of(std::size_t group) const {
        return std::span(groups[group]).subspan(first_held[group]);
    }
};

/// Whether a prefix may end within a page, whose first write then copies it.
enum class PartialPages : uint8_t { skip, share };

/// The state that a model's layers store for sequences, and its verbs: find, reserve, advance, snapshot,
/// fork, publish, invalidate, release. The scheduler does not know which kinds exist:
///
/// - paged: every position, in pages of a full group;
/// - windowed: the pages that the next rows attend to: advance() releases those that left the window, and
///   reserve() allocates at most one batch ahead;
/// - recurrent: one slot of fixed size (state_slots.hpp).
///
/// A published or shared page or slot is never written: the writer gets a copy. A rejected draft needs no
/// verb: pages are overwritten from its position on, and the pending rows of recurrent layers are dropped.
///
/// The device runs submissions in order, so a page can be reallocated as soon as the last row that uses it
/// has been scheduled. Within one batch the order is copies, then rows; sources of copies stay referenced
/// until its end. Not thread-safe.
class StateCache {
public:
    StateCache(const Limits& limits, const HashKey& key, uint64_t model_salt);

    [[nodiscard]] const HashKey& key() const { return key_; }
    [[nodiscard]] uint32_t page_tokens() const { return page_tokens_; }
    /// Number of pages of the first group without a window, else of the first group; 0 without groups.
    [[nodiscard]] uint32_t prefix_pages() const {
        return pools_.empty() ? 0 : pools_[prefix_group_].page_count();
    }

    /// Records from now on which pages can be found. Precondition: none is published.
    void record_changes();
    /// Null before record_changes().
    [[nodiscard]] CacheJournal* journal() { return journal_.get(); }
    [[nodiscard]] HeldState make_state(uint64_t request_salt) const;

    /// Fills an empty state with published state that matches `content` from its start, up to the last
    /// position from which every layer can continue: full groups need all pages before it, groups with a
    /// window those that the window reaches, and recurrent layers a snapshot taken there. Returns that
    /// position, at most `positions_max`: those before it need no computation.
    uint32_t find(HeldState& held, const ContentRun& content, uint32_t positions_max, PartialPages partial);

    /// Makes positions [begin, end) writable, in groups with a window at most one batch of them: allocates
    /// missing pages, copies shared ones, and appends the copies to `copies`; allocates the slot of recurrent
    /// layers. Returns false and changes nothing if fewer than `spare` pages would be left to allocate in
    /// some group, or no slot is left.
    bool reserve(HeldState& held, uint32_t begin, uint32_t end, uint32_t spare,
                 std::vector<PageCopy>& copies);

    /// Releases the pages that no row at `position` or later attends to. Preconditions: those pages are
    /// published if they are to be found, and no batch that is still being built reads them.
    void advance(HeldState& held, uint32_t position);

    /// Publishes the full pages among the first `positions` positions, which hold `content`. Precondition:
    /// their rows are scheduled.
    void publish(HeldState& held, const ContentRun& content, uint32_t positions);

    /// As publish(), and the partially filled last page, and the recurrent state unless it covers more than
    /// `positions`: for a sequence that has finished writing, and is released next.
    void publish_all(HeldState& held, const ContentRun& content, uint32_t positions);

    /// Publishes the full pages before the position of the recurrent state, and takes a snapshot of it, if
    /// slots are left. Precondition: no row of the sequence is pending.
    void snapshot(HeldState& held, const ContentRun& content);

    /// Removes pages and snapshots from the index, because their content is invalid. Sequences that share
    /// them are unaffected.
    void invalidate(const HeldState& held);

    /// Releases everything; `held` is empty afterwards.
    void release(HeldState& held);

    /// Returns a state that shares the same pages, and a copy of the recurrent state. The copy is missing if
    /// no slot is free: see has_state().
    HeldState fork(const HeldState& held);
    [[nodiscard]] bool has_state(const HeldState& held) const {
        return !slots_.exist() || held.recurrent.slot != no_state_slot;
    }

    /// Ends a batch that will be submitted: appends the copies of recurrent state that come before its rows.
    void take_state_copies(std::vector<StateCopy>& copies) { slots_.take_copies(copies); }

    /// Ends the batch: releases the sources of its copies.
    void end_batch();

    [[nodiscard]] const std::vector<PagePool>& pools() const { return pools_; }
    [[nodiscard]] const StateSlots& slots() const { return slots_; }

    /// Pages of a group that the admission of a sequence of `length` known positions allocates at most.
    [[nodiscard]] uint32_t admission_pages(std::size_t group, uint32_t length) const;

    /// Checks all pools against every table that exists. Errors: internal, naming group and page.
    [[nodiscard]] Status verify(std::span<const HeldState* const> held) const;

private:
    struct CopySource {
        uint32_t group;
        PageId page;
    };

    /// The leading full pages of a content.
    struct PageChain {
        std::vector<PageHash> hashes;
        std::vector<bool> can_resume; ///< after each page: every group has the pages that the next row reads
    };

    [[nodiscard]] bool is_published(const PageHash& hash) const;
    [[nodiscard]] uint32_t first_needed(std::size_t group, uint32_t position) const;
    [[nodiscard]] uint32_t reserved_end(std::size_t group, uint32_t begin, uint32_t end) const;
    [[nodiscard]] PageChain page_chain(PageHash parent, const ContentRun& content,
                                       uint32_t positions_max) const;
    uint32_t find_pages(HeldState& held, const ContentRun& content, uint32_t positions_max);
    uint32_t find_snapshot(HeldState& held, const ContentRun& content, uint32_t positions_max,
                           PartialPages partial);
    [[nodiscard]] std::optional<PageBranches::Found> longest_page(const PageHash& parent,
                                                                  const ContentRun& content) const;
    void share_pages(HeldState& held, std::span<const PageHash> hashes, uint32_t position);
    void share_page(HeldState& held, const PageHash& hash);
    [[nodiscard]] const PageHash& parent_at(const HeldState& held, uint32_t position) const;
    [[nodiscard]] ContentRun rest_at(const ContentRun& content, uint32_t position) const;
    void publish_page(HeldState& held, std::size_t page, const PageHash& hash, const ContentRun& run);
    [[nodiscard]] uint32_t count_missing(uint32_t group, const HeldState& held, uint32_t first,
                                         uint32_t end) const;

    uint32_t page_tokens_;
    uint32_t batch_rows_max_;
    std::vector<CacheGroup> groups_;
    HashKey key_;
    uint64_t model_salt_;
    std::vector<PagePool> pools_;           ///< [group]
    std::size_t page_count_max_ = 0;        ///< of any group
    std::size_t prefix_group_ = 0;          ///< see prefix_pages()
    std::unique_ptr<CacheJournal> journal_; ///< null: nothing is recorded
    std::vector<CopySource> copy_sources_;
    PageBranches branches_;
    StateSlots slots_;
};

} // namespace etna::engine
