#pragma once

#include "core/base/result.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/cache_journal.hpp"
#include "core/engine/page_hash.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace etna::engine {

/// Tracks the references to the pages of one cache group, and which pages can be found by content. Handles
/// ids only; the content is on the device. Every page is in exactly one state:
///
///     free          no references, content undefined
///     in use        one or more references; published or not
///     cached        no references, published: can be found; evicted least recently used first, see Eviction
///
/// Not thread-safe. Page ids passed in must be below page_count.
class PagePool {
public:
    explicit PagePool(uint32_t page_count);

    /// Sets the journal that records which pages can no longer be found; borrowed, null: none.
    void set_journal(CacheJournal* journal) { journal_ = journal; }

    /// Returns a page with one reference and undefined content; a cached one is evicted only if none is free.
    /// Empty if all pages are in use.
    std::optional<PageId> allocate();

    /// Cached pages of `early` are evicted before all of `late`; each kind least recently used first.
    enum class Eviction : uint8_t { early, late };

    /// Adds, or removes, one reference. Without references a published page is cached, any other is free.
    /// Precondition of release: a reference exists. Precondition of retain: in use or cached.
    void retain(PageId page);
    void release(PageId page, Eviction eviction = Eviction::late);

    /// Publishes a page in use under a hash, so that find() returns it. Returns false and changes nothing if
    /// another page is published under this hash. Precondition: the page is not published.
    bool publish(PageId page, const PageHash& hash);

    /// Removes a page from the index, if it was published; a cached one is free afterwards. Precondition: in
    /// use or cached.
    void invalidate(PageId page);

    /// Returns the page published under this hash, without a new reference.
    [[nodiscard]] std::optional<PageId> find(const PageHash& hash) const;

    /// Whether its single owner may write to it: no other sequence reads it now or can find it later.
    [[nodiscard]] bool is_exclusive(PageId page) const;

    [[nodiscard]] uint32_t references(PageId page) const { return pages_[page].references; }
    [[nodiscard]] uint32_t page_count() const { return static_cast<uint32_t>(pages_.size()); }
    /// Number of pages that allocate() can return: free and cached ones.
    [[nodiscard]] uint32_t available() const { return static_cast<uint32_t>(free_.size()) + cached_count_; }
    [[nodiscard]] uint32_t cached() const { return cached_count_; }

    /// Checks every invariant, given the number of references to each page in all page tables, [page_count].
    /// Errors: internal, naming the page.
    [[nodiscard]] Status verify(std::span<const uint32_t> references) const;

private:
    struct Page {
        uint32_t references = 0;
        std::optional<PageHash> hash;       ///< when published
        Eviction eviction = Eviction::late; ///< when cached: its list
        PageId older = 0;                   ///< neighbours in the list
        PageId newer = 0;
    };

    /// page_count() if there is none, as in `older` and `newer` at the ends.
    struct CachedPages {
        PageId oldest = 0;
        PageId newest = 0;
    };

    [[nodiscard]] CachedPages& cached_list(PageId page) {
        return cached_[static_cast<std::size_t>(pages_[page].eviction)];
    }
    void unpublish(PageId page);
    void insert_cached(PageId page);
    void remove_cached(PageId page);
    [[nodiscard]] Status verify_lists() const;

    std::vector<Page> pages_;
    std::vector<PageId> free_;
    std::unordered_map<PageHash, PageId, PageHashHasher> published_;
    std::array<CachedPages, 2> cached_; ///< [Eviction]
    uint32_t cached_count_ = 0;
    CacheJournal* journal_ = nullptr; ///< borrowed; null: none
};

} // namespace etna::engine
