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
    std::vector<std::vector<PageId>> groups; ///< [group][page of the sequence]
    std::vector<PageHash> hashes; ///< of its leading full pages, as far as they were published or reused
    PageHash root{};              ///< parent of the first
};

/// The tokens of a sequence and what kind of row each is computed as, of equal length.
struct Content {
    std::span<const TokenId> tokens;
    std::span<const RowKind> kinds;

    [[nodiscard]] Content part(std::size_t begin, std::size_t count) const {
        return {tokens.subspan(begin, count), kinds.subspan(begin, count)};
    }
};

/// The pools of all cache groups, and what sequences do with their pages in them. A page that is published or
/// shared is never written: whoever writes there gets a copy. A page is shared or found only as a whole, in
/// all groups.
///
/// The device runs submissions in order, so a page may change hands as soon as the last row that uses it has
/// been scheduled. Only within one batch the order is copies, then rows; sources of copies stay referenced to
/// its end.
class PageCache {
public:
    PageCache(const Limits& limits, const HashKey& key, uint64_t model_salt);

    [[nodiscard]] PageTables make_tables(uint64_t request_salt) const;

    /// Puts the longest chain of published pages that holds `content` into empty tables, as far as it starts
    /// before `places_max`. Returns how many places need not be computed, at most `places_max`.
    uint32_t reuse(PageTables& tables, const Content& content, uint32_t places_max);

    /// After reuse() of `shared` places, whole pages all of them: adds the published page that begins as
    /// `content` goes on, though it holds something else, or less, after that. Returns how many places more
    /// need not be computed, less than a page. Who goes on writes there and so gets a copy.
    uint32_t reuse_beginning(PageTables& tables, const Content& content, uint32_t shared,
                             uint32_t places_max);

    /// Makes places [begin, end) writable: allocates what is missing, copies what is shared (the copies are
    /// appended to `copies`). All or nothing: false when fewer than `spare` pages would be left to allocate
    /// in some group.
    bool reserve(PageTables& tables, uint32_t begin, uint32_t end, uint32_t spare,
                 std::vector<PageCopy>& copies);

    /// Publishes the full pages among the first `places` places, which hold `content`. Their rows are
    /// scheduled.
    void publish(PageTables& tables, const Content& content, uint32_t places);

    /// The same, and the page that is full in part: for a sequence that writes no more.
    void publish_all(PageTables& tables, const Content& content, uint32_t places);

    /// Makes sure that nobody finds these pages from now on: their content is worthless. Who shares them
    /// already keeps them.
    void withdraw(const PageTables& tables);

    /// Gives all pages back; the tables are empty then.
    void release(PageTables& tables);

    /// The same pages once more.
    PageTables fork(const PageTables& tables);

    /// Gives back the pages that hold nothing of the first `places` places.
    void truncate(PageTables& tables, uint32_t places);

    /// The batch is complete: sources of its copies need no protection any more.
    void end_batch();

    [[nodiscard]] const std::vector<PagePool>& pools() const { return pools_; }

    /// Checks all pools, given every table that exists. Errors: internal, naming group and page.
    [[nodiscard]] Status verify(std::span<const PageTables* const> tables) const;

private:
    struct Held {
        uint32_t group;
        PageId page;
    };

    [[nodiscard]] bool is_published(const PageHash& hash) const;
    void share_page(PageTables& tables, const PageHash& hash);
    void publish_page(PageTables& tables, std::size_t page, const PageHash& hash, const Content& held);
    [[nodiscard]] uint32_t count_missing(uint32_t group, const PageTables& tables, uint32_t first,
                                         uint32_t end) const;

    uint32_t page_tokens_;
    HashKey key_;
    uint64_t model_salt_;
    std::vector<PagePool> pools_; ///< [group]
    std::vector<Held> held_;
    PageBranches branches_;
};

} // namespace etna::engine
