#include "core/engine/cache_journal.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace etna::engine {

void CacheJournal::store(const PageHash& parent, const PageHash& hash, std::size_t index,
                         const ContentRun& content) {
    StoredPage page = {.hash = hash, .index = static_cast<uint32_t>(index)};
    if (index > 0) {
        const auto before = pages_.find(parent);
        if (before == pages_.end() || before->second.tokens.size() < page_tokens_)
            return;
        page.parent = parent;
    } else if (parent != plain_root_) {
        page.salt_mark = parent[0];
    }
    for (std::size_t i = 0; i < content.ids.size() && content.kinds[i] == RowKind::prefill &&
                            content.ids[i] <= std::numeric_limits<TokenId>::max();
         ++i)
        page.tokens.push_back(static_cast<TokenId>(content.ids[i]));
    if (page.tokens.empty())
        return;
    pages_.insert_or_assign(hash, page);
    changes_.emplace_back(std::move(page));
}

void CacheJournal::remove(const PageHash& hash) {
    const auto page = pages_.find(hash);
    if (page == pages_.end())
        return;
    changes_.emplace_back(RemovedPage{hash, static_cast<uint32_t>(page->second.tokens.size())});
    pages_.erase(page);
}

std::vector<CacheChange> CacheJournal::take_changes() {
    return std::exchange(changes_, {});
}

std::vector<CacheChange> CacheJournal::snapshot() const {
    std::vector<const StoredPage*> pages;
    pages.reserve(pages_.size());
    for (const auto& [hash, page] : pages_)
        pages.push_back(&page);
    std::sort(pages.begin(), pages.end(),
              [](const StoredPage* a, const StoredPage* b) { return a->index < b->index; });
    std::vector<CacheChange> changes = {ClearedPages{}};
    for (const StoredPage* page : pages)
        changes.emplace_back(*page);
    return changes;
}

} // namespace etna::engine
