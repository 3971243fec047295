#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/executor.hpp"
#include "core/engine/page_branches.hpp"
#include "core/engine/page_hash.hpp"
#include "core/engine/page_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::engine {

/// One sequence's share of the cache. Each entry of a table is one reference in the group's pool.
struct PageTables {
    /// [group][page of the sequence]; pages that left a group's window are `no_page`
    std::vector<std::vector<PageId>> groups;
    std::vector<uint32_t> first_held; ///< [group], the first page that is not `no_page`
    std::vector<PageHash> hashes;     ///< of the leading full pages that were published or matched
    PageHash root{};                  ///< parent of the first page

    [[nodiscard]] std::span<const PageId> held(std::size_t group) const {
        return std::span(groups[group]).subspan(first_held[group]);
    }
};

/// The tokens of a sequence and the row kind that each is computed as, of equal length.
struct TokenRun {
    std::span<const TokenId> tokens;
    std::span<const RowKind> kinds;

    [[nodiscard]] TokenRun part(std::size_t begin, std::size_t count) const {
        return {tokens.subspan(begin, count), kinds.subspan(begin, count)};
    }
};

/// The pools of all cache groups, and the operations of sequences on their pages. A published or shared page
/// is never written: the writer gets a copy.
///
/// A group with a window holds only the pages that the next rows of a sequence attend to: advance() releases
/// those that left the window, and reserve() allocates at most one batch ahead.
///
/// The device runs submissions in order, so a page can be reallocated as soon as the last row that uses it
/// has been scheduled. Within one batch the order is copies, then rows; sources of copies stay referenced
/// until its end.
class PageCache {
public:
    PageCache(const Limits& limits, const HashKey& key, uint64_t model_salt);

    [[nodiscard]] PageTables make_tables(uint64_t request_salt) const;

    /// Fills empty tables with published pages that match `content` from its start, up to the last position
    /// from which every group can continue: full groups need all pages before it, groups with a window those
    /// that the window reaches. The pages start before `positions_max`. Returns the number of positions that
    /// need no computation, at most `positions_max`.
    uint32_t match_prefix(PageTables& tables, const TokenRun& content, uint32_t positions_max);

    /// After match_prefix() of `shared` positions, all in full pages: adds the published page that shares the
    /// longest prefix with the rest of `content`. Returns the number of further positions that need no
    /// computation, fewer than one page. The first write to that page copies it.
    uint32_t match_partial_page(PageTables& tables, const TokenRun& content, uint32_t shared,
                                uint32_t positions_max);

    /// Makes positions [begin, end) writable, in groups with a window at most one batch of them: allocates
    /// missing pages, copies shared ones, and appends the copies to `copies`. Returns false and changes
    /// nothing if fewer than `spare` pages would be left to allocate in some group.
    bool reserve(PageTables& tables, uint32_t begin, uint32_t end, uint32_t spare,
                 std::vector<PageCopy>& copies);

    /// Releases the pages that no row at `position` or later attends to. Preconditions: those pages are
    /// published if they are to be found, and no batch that is still being built reads them.
    void advance(PageTables& tables, uint32_t position);

    /// Publishes the full pages among the first `positions` positions, which hold `content`. Precondition:
    /// their rows are scheduled.
    void publish(PageTables& tables, const TokenRun& content, uint32_t positions);

    /// As publish(), and the partially filled last page: for a sequence that has finished writing.
    void publish_all(PageTables& tables, const TokenRun& content, uint32_t positions);

    /// Removes the pages from the index, because their content is invalid. Sequences that share them are
    /// unaffected.
    void invalidate(const PageTables& tables);

    /// Releases all pages; the tables are empty afterwards.
    void release(PageTables& tables);

    /// Returns tables that share the same pages.
    PageTables fork(const PageTables& tables);

    /// Releases the pages after the first `positions` positions.
    void truncate(PageTables& tables, uint32_t positions);

    /// Ends the batch: releases the sources of its copies.
    void end_batch();

    [[nodiscard]] const std::vector<PagePool>& pools() const { return pools_; }

    /// Pages of a group that the admission of a sequence of `length` known positions allocates at most.
    [[nodiscard]] uint32_t admission_pages(std::size_t group, uint32_t length) const;

    /// Checks all pools against every table that exists. Errors: internal, naming group and page.
    [[nodiscard]] Status verify(std::span<const PageTables* const> tables) const;

private:
    struct CopySource {
        uint32_t group;
        PageId page;
    };

    [[nodiscard]] bool is_published(const PageHash& hash) const;
    [[nodiscard]] uint32_t first_needed(std::size_t group, uint32_t position) const;
    [[nodiscard]] uint32_t reserved_end(std::size_t group, uint32_t begin, uint32_t end) const;
    [[nodiscard]] std::vector<PageHash> resumable_chain(PageHash parent, const TokenRun& content,
                                                        uint32_t positions_max) const;
    void share_page(PageTables& tables, const PageHash& hash);
    void publish_page(PageTables& tables, std::size_t page, const PageHash& hash, const TokenRun& run);
    [[nodiscard]] uint32_t count_missing(uint32_t group, const PageTables& tables, uint32_t first,
                                         uint32_t end) const;

    uint32_t page_tokens_;
    uint32_t batch_rows_max_;
    std::vector<CacheGroup> groups_;
    HashKey key_;
    uint64_t model_salt_;
    std::vector<PagePool> pools_; ///< [group]
    std::vector<CopySource> copy_sources_;
    PageBranches branches_;
};

} // namespace etna::engine
