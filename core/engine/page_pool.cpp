#include "core/engine/page_pool.hpp"

#include <cassert>

#include <fmt/format.h>

namespace etna::engine {

PagePool::PagePool(uint32_t page_count)
    : pages_(page_count), cached_{{{page_count, page_count}, {page_count, page_count}}} {
    free_.reserve(page_count);
    for (PageId page = page_count; page > 0; --page)
        free_.push_back(page - 1); // the lowest id is allocated first
}

std::optional<PageId> PagePool::allocate() {
    if (free_.empty()) {
        if (cached_count_ == 0)
            return std::nullopt;
        const PageId evicted = cached_[0].oldest != page_count() ? cached_[0].oldest : cached_[1].oldest;
        remove_cached(evicted);
        unpublish(evicted);
        free_.push_back(evicted);
    }
    const PageId page = free_.back();
    free_.pop_back();
    pages_[page].references = 1;
    return page;
}

void PagePool::retain(PageId page) {
    assert(pages_[page].references > 0 || pages_[page].hash);
    if (pages_[page].references++ == 0)
        remove_cached(page);
}

void PagePool::release(PageId page, Eviction eviction) {
    assert(pages_[page].references > 0);
    if (--pages_[page].references > 0)
        return;
    if (pages_[page].hash) {
        pages_[page].eviction = eviction;
        insert_cached(page);
    } else {
        free_.push_back(page);
    }
}

bool PagePool::publish(PageId page, const PageHash& hash) {
    assert(pages_[page].references > 0 && !pages_[page].hash);
    if (!published_.try_emplace(hash, page).second)
        return false;
    pages_[page].hash = hash;
    return true;
}

void PagePool::invalidate(PageId page) {
    if (!pages_[page].hash)
        return;
    unpublish(page);
    if (pages_[page].references > 0)
        return;
    remove_cached(page);
    free_.push_back(page);
}

std::optional<PageId> PagePool::find(const PageHash& hash) const {
    const auto found = published_.find(hash);
    return found != published_.end() ? std::optional(found->second) : std::nullopt;
}

bool PagePool::is_exclusive(PageId page) const {
    return pages_[page].references == 1 && !pages_[page].hash;
}

/// Precondition: the page is published.
void PagePool::unpublish(PageId page) {
    if (journal_ != nullptr)
        journal_->remove(*pages_[page].hash);
    published_.erase(*pages_[page].hash);
    pages_[page].hash.reset();
}

void PagePool::insert_cached(PageId page) {
    const PageId none = page_count();
    CachedPages& list = cached_list(page);
    pages_[page].older = list.newest;
    pages_[page].newer = none;
    (list.newest != none ? pages_[list.newest].newer : list.oldest) = page;
    list.newest = page;
    ++cached_count_;
}

void PagePool::remove_cached(PageId page) {
    const PageId none = page_count();
    CachedPages& list = cached_list(page);
    const PageId older = pages_[page].older;
    const PageId newer = pages_[page].newer;
    (older != none ? pages_[older].newer : list.oldest) = newer;
    (newer != none ? pages_[newer].older : list.newest) = older;
    --cached_count_;
}

Status PagePool::verify_lists() const {
    std::vector<uint32_t> listed(pages_.size());
    for (const PageId page : free_) {
        ++listed[page];
        if (pages_[page].hash)
            return Error{ErrorKind::internal, fmt::format("page {} is free and published", page)};
    }
    uint32_t cached = 0;
    for (const CachedPages& list : cached_) {
        for (PageId page = list.oldest; page != page_count() && cached <= cached_count_;
             page = pages_[page].newer) {
            ++listed[page];
            ++cached;
            if (!pages_[page].hash)
                return Error{ErrorKind::internal, fmt::format("page {} is cached but not published", page)};
        }
    }
    if (cached != cached_count_) {
        return Error{ErrorKind::internal,
                     fmt::format("{} cached pages are listed, not {}", cached, cached_count_)};
    }
    for (PageId page = 0; page < page_count(); ++page) {
        const uint32_t expected = pages_[page].references == 0 ? 1 : 0;
        if (listed[page] != expected) {
            return Error{ErrorKind::internal, fmt::format("page {} has {} references and is in {} lists",
                                                          page, pages_[page].references, listed[page])};
        }
    }
    return {};
}

Status PagePool::verify(std::span<const uint32_t> references) const {
    ETNA_CHECK(verify_lists());
    uint32_t published = 0;
    for (PageId page = 0; page < page_count(); ++page) {
        if (pages_[page].references != references[page]) {
            return Error{ErrorKind::internal, fmt::format("page {} counts {} references, but has {}", page,
                                                          pages_[page].references, references[page])};
        }
        if (!pages_[page].hash)
            continue;
        ++published;
        if (find(*pages_[page].hash) != page)
            return Error{ErrorKind::internal, fmt::format("published page {} cannot be found", page)};
    }
    if (published != published_.size()) {
        return Error{ErrorKind::internal, fmt::format("{} pages are published, but {} can be found",
                                                      published, published_.size())};
    }
    return {};
}

} // namespace etna::engine
