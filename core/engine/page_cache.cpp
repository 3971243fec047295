#include "core/engine/page_cache.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace etna::engine {

PageCache::PageCache(const Limits& limits, const HashKey& key, uint64_t model_salt)
    : page_tokens_(limits.page_tokens), key_(key), model_salt_(model_salt) {
    for (const CacheGroup& group : limits.groups)
        pools_.emplace_back(group.page_count);
}

PageTables PageCache::make_tables(uint64_t request_salt) const {
    PageTables tables;
    tables.groups.resize(pools_.size());
    tables.root = root_hash(key_, model_salt_, request_salt);
    return tables;
}

bool PageCache::share_next_page(PageTables& tables, const PageHash& hash) {
    for (const PagePool& pool : pools_) {
        if (!pool.find(hash))
            return false;
    }
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        const PageId page = *pools_[group].find(hash);
        pools_[group].retain(page);
        tables.groups[group].push_back(page);
    }
    tables.hashes.push_back(hash);
    return true;
}

uint32_t PageCache::reuse(PageTables& tables, const Content& content, uint32_t places_max) {
    uint32_t shared = 0;
    PageHash parent = tables.root;
    while (shared < places_max && content.tokens.size() - shared >= page_tokens_) {
        parent = page_hash(key_, parent, content.tokens.subspan(shared, page_tokens_),
                           content.kinds.subspan(shared, page_tokens_));
        if (!share_next_page(tables, parent))
            break;
        shared += page_tokens_;
    }
    return std::min(shared, places_max);
}

uint32_t PageCache::count_missing(uint32_t group, const PageTables& tables, uint32_t first,
                                  uint32_t end) const {
    const std::vector<PageId>& table = tables.groups[group];
    uint32_t missing = 0;
    for (uint32_t i = first; i < end; ++i)
        missing += i >= table.size() || !pools_[group].is_exclusive(table[i]) ? 1 : 0;
    return missing;
}

bool PageCache::reserve(PageTables& tables, uint32_t begin, uint32_t end, uint32_t spare,
                        std::vector<PageCopy>& copies) {
    const uint32_t first_page = begin / page_tokens_;
    const uint32_t end_page = divide_up(end, page_tokens_);
    for (uint32_t group = 0; group < pools_.size(); ++group) {
        const uint32_t missing = count_missing(group, tables, first_page, end_page);
        if (missing > 0 && uint64_t{missing} + spare > pools_[group].available())
            return false;
    }
    tables.hashes.resize(std::min<std::size_t>(tables.hashes.size(), first_page));
    for (uint32_t group = 0; group < pools_.size(); ++group) {
        PagePool& pool = pools_[group];
        std::vector<PageId>& table = tables.groups[group];
        for (uint32_t i = first_page; i < end_page; ++i) {
            if (i < table.size() && pool.is_exclusive(table[i]))
                continue;
            const PageId page = *pool.allocate();
            if (i == table.size()) {
                table.push_back(page);
                continue;
            }
            if (begin > i * page_tokens_) // places before `begin` keep their content
                copies.push_back({.group = group, .from = table[i], .to = page});
            held_.push_back({group, table[i]});
            table[i] = page;
        }
    }
    return true;
}

void PageCache::publish(PageTables& tables, const Content& content, uint32_t places) {
    for (auto i = static_cast<uint32_t>(tables.hashes.size()); (i + 1) * page_tokens_ <= places; ++i) {
        const PageHash& parent = i == 0 ? tables.root : tables.hashes.back();
        const std::size_t begin = std::size_t{i} * page_tokens_;
        const PageHash hash = page_hash(key_, parent, content.tokens.subspan(begin, page_tokens_),
                                        content.kinds.subspan(begin, page_tokens_));
        for (std::size_t group = 0; group < pools_.size(); ++group) {
            if (pools_[group].is_exclusive(
                    tables.groups[group][i])) // of a fork's common pages, one is enough
                pools_[group].publish(tables.groups[group][i], hash);
        }
        tables.hashes.push_back(hash);
    }
}

void PageCache::withdraw(const PageTables& tables) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        for (const PageId page : tables.groups[group])
            pools_[group].withdraw(page);
    }
}

void PageCache::release(PageTables& tables) {
    truncate(tables, 0);
}

PageTables PageCache::fork(const PageTables& tables) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        for (const PageId page : tables.groups[group])
            pools_[group].retain(page);
    }
    return tables;
}

void PageCache::truncate(PageTables& tables, uint32_t places) {
    const std::size_t pages = divide_up(places, page_tokens_);
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        std::vector<PageId>& table = tables.groups[group];
        for (; table.size() > pages; table.pop_back()) {
            pools_[group].release(table.back());
        } // the last first: a page without its parents is worth nothing
    }
    tables.hashes.resize(std::min<std::size_t>(tables.hashes.size(), places / page_tokens_));
}

void PageCache::end_batch() {
    for (const Held& held : held_)
        pools_[held.group].release(held.page);
    held_.clear();
}

Status PageCache::verify(std::span<const PageTables* const> tables) const {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        std::vector<uint32_t> references(pools_[group].page_count());
        for (const PageTables* one : tables) {
            for (const PageId page : one->groups[group])
                ++references[page];
        }
        for (const Held& held : held_)
            references[held.page] += held.group == group ? 1 : 0;
        if (const Status status = pools_[group].verify(references); !status)
            return status.error().while_doing(fmt::format("cache group {}", group));
    }
    return {};
}

} // namespace etna::engine
