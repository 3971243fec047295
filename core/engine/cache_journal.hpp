#pragma once

#include "core/base/token.hpp"
#include "core/engine/content.hpp"
#include "core/engine/page_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

namespace etna::engine {

/// A page that later prompts can find.
struct StoredPage {
    PageHash hash{};
    std::optional<PageHash> parent = {}; ///< the page before it; empty: it is the first
    /// Set on the first page of a request whose Request::cache_salt is not 0: only requests with the same
    /// salt find it and its successors. Equal for equal salts in one engine; reveals nothing else about the
    /// salt.
    std::optional<uint64_t> salt_mark = {};
    uint32_t index = 0; ///< position of the page in its sequence, in pages
    std::vector<TokenId> tokens =
        {}; ///< the leading ones that a prompt can match; fewer than a page: nothing follows
};

/// A page that was evicted or is invalid.
struct RemovedPage {
    PageHash hash{};
    uint32_t tokens = 0; ///< count of StoredPage::tokens
};

/// All pages reported before are gone.
struct ClearedPages {};

using CacheChange = std::variant<StoredPage, RemovedPage, ClearedPages>;

/// Receives the changes of an engine's cache. Called on the engine's thread, and so never blocks.
class CacheObserver {
public:
    CacheObserver() = default;
    CacheObserver(const CacheObserver&) = delete;
    CacheObserver& operator=(const CacheObserver&) = delete;
    virtual ~CacheObserver() = default;

    /// Takes the changes of a step, in order, or returns false and drops them: then the engine calls it again
    /// after a later step, once has_room() is true, with ClearedPages and all pages of that time.
    virtual bool take(std::vector<CacheChange> changes) = 0;
    [[nodiscard]] virtual bool has_room() = 0;

    /// The engine has ended, and its cache with it. The last call.
    virtual void end() = 0;
};

/// Records the changes of a cache for a CacheObserver. Only pages of tokens in prefill rows are recorded,
/// because a client's prompt matches no others; a page that starts with prefill rows and continues with an
/// answer is recorded with the tokens of the prefill rows. Of several groups, only the first without a window
/// is recorded, else the first group: with windows or recurrent layers a prompt may find less. Memory is
/// bounded by the pages of the cache and the changes of a step. Not thread-safe.
class CacheJournal {
public:
    /// `plain_root`: the parent of the first pages of requests without a salt.
    CacheJournal(const PageHash& plain_root, uint32_t page_tokens)
        : plain_root_(plain_root), page_tokens_(page_tokens) {}

    /// Records that a page was published. `parent`: the root for the first page.
    void store(const PageHash& parent, const PageHash& hash, std::size_t index, const ContentRun& content);

    /// Records that a page can no longer be found.
    void remove(const PageHash& hash);

    /// Returns the changes since the last call.
    std::vector<CacheChange> take_changes();

    /// Returns ClearedPages and every recorded page that exists, parents before their successors.
    [[nodiscard]] std::vector<CacheChange> snapshot() const;

private:
    PageHash plain_root_;
    uint32_t page_tokens_;
    std::unordered_map<PageHash, StoredPage, PageHashHasher> pages_;
    std::vector<CacheChange> changes_;
};

} // namespace etna::engine
