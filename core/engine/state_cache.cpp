#include "core/engine/state_cache.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace etna::engine {
namespace {

/// Maximum entries of PageBranches per page, those of evicted pages included, before it is pruned.
constexpr std::size_t branches_per_page_max = 2;

} // namespace

StateCache::StateCache(const Limits& limits, const HashKey& key, uint64_t model_salt)
    : page_tokens_(limits.page_tokens), batch_rows_max_(limits.batch_rows_max), groups_(limits.groups),
      key_(key), model_salt_(model_salt), slots_(limits.state_slots, key) {
    for (const CacheGroup& group : limits.groups) {
        pools_.emplace_back(group.page_count);
        page_count_max_ = std::max<std::size_t>(page_count_max_, group.page_count);
    }
    const auto full = std::find_if(groups_.begin(), groups_.end(),
                                   [](const CacheGroup& group) { return group.kind == CacheKind::full; });
    if (full != groups_.end())
        prefix_group_ = static_cast<std::size_t>(full - groups_.begin());
}

void StateCache::record_changes() {
    journal_ = std::make_unique<CacheJournal>(root_hash(key_, model_salt_, 0), page_tokens_);
    if (!pools_.empty())
        pools_[prefix_group_].set_journal(journal_.get());
}

HeldState StateCache::make_state(uint64_t request_salt) const {
    HeldState held;
    held.groups.resize(pools_.size());
    held.first_held.resize(pools_.size());
    held.root = root_hash(key_, model_salt_, request_salt);
    return held;
}

bool StateCache::is_published(const PageHash& hash) const {
    return std::all_of(pools_.begin(), pools_.end(),
                       [&](const PagePool& pool) { return pool.find(hash).has_value(); });
}

/// Precondition: the page is published.
void StateCache::share_page(HeldState& held, const PageHash& hash) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        const PageId page = *pools_[group].find(hash);
        pools_[group].retain(page);
        held.groups[group].push_back(page);
    }
}

/// First page of a group that a row at `position` attends to.
uint32_t StateCache::first_needed(std::size_t group, uint32_t position) const {
    const Row row{.position = position};
    return attend_begin(row, groups_[group]) / page_tokens_;
}

uint32_t StateCache::reserved_end(std::size_t group, uint32_t begin, uint32_t end) const {
    return groups_[group].kind == CacheKind::full ? end : std::min(end, begin + batch_rows_max_);
}

uint32_t StateCache::admission_pages(std::size_t group, uint32_t length) const {
    const uint32_t all = divide_up(length, page_tokens_);
    return groups_[group].kind == CacheKind::full
               ? all
               : std::min(all, window_pages(groups_[group].window_tokens, batch_rows_max_, page_tokens_));
}

/// Returns the leading pages of `content` that start before `positions_max`, up to the first that a full
/// group lacks.
StateCache::PageChain StateCache::page_chain(PageHash parent, const ContentRun& content,
                                             uint32_t positions_max) const {
    PageChain chain;
    std::vector<std::size_t> first_of_run(pools_.size(), 0); // pages [first, current] are published
    for (std::size_t begin = 0; begin < positions_max && content.ids.size() - begin >= page_tokens_;
         begin += page_tokens_) {
        parent = page_hash(key_, parent, content.part(begin, page_tokens_));
        const auto position = std::min(static_cast<uint32_t>(begin) + page_tokens_, positions_max);
        bool can_resume = true;
        for (std::size_t group = 0; group < pools_.size(); ++group) {
            if (!pools_[group].find(parent)) {
                if (groups_[group].kind == CacheKind::full)
                    return chain; // no later position can be resumed
                first_of_run[group] = chain.hashes.size() + 1;
            }
            can_resume = can_resume && first_of_run[group] <= first_needed(group, position);
        }
        chain.hashes.push_back(parent);
        chain.can_resume.push_back(can_resume);
    }
    return chain;
}

/// Fills an empty state with the published pages `hashes` that a row at `position` attends to.
void StateCache::share_pages(HeldState& held, std::span<const PageHash> hashes, uint32_t position) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        const auto first = std::min<std::size_t>(first_needed(group, position), hashes.size());
        std::vector<PageId>& table = held.groups[group];
        table.assign(first, no_page);
        held.first_held[group] = static_cast<uint32_t>(first);
        for (std::size_t page = first; page < hashes.size(); ++page) {
            table.push_back(*pools_[group].find(hashes[page]));
            pools_[group].retain(table.back());
        }
    }
    held.hashes.assign(hashes.begin(), hashes.end());
}

uint32_t StateCache::find(HeldState& held, const ContentRun& content, uint32_t positions_max,
                          PartialPages partial) {
    if (partial == PartialPages::skip)
        positions_max = positions_max / page_tokens_ * page_tokens_;
    if (slots_.exist())
        return find_snapshot(held, content, positions_max, partial);
    const uint32_t cached = find_pages(held, content, positions_max);
    if (partial == PartialPages::skip || cached == positions_max)
        return cached;
    const std::size_t rest = std::min<std::size_t>(positions_max - cached, page_tokens_);
    const PageHash& parent = held.hashes.empty() ? held.root : held.hashes.back();
    const auto page = longest_page(parent, content.part(cached, rest));
    if (!page)
        return cached;
    share_page(held, page->hash);
    return cached + page->positions;
}

/// Fills the tables with full pages, the last of which may reach beyond `positions_max`.
uint32_t StateCache::find_pages(HeldState& held, const ContentRun& content, uint32_t positions_max) {
    const PageChain chain = page_chain(held.root, content, positions_max);
    std::size_t pages = chain.hashes.size();
    while (pages > 0 && !chain.can_resume[pages - 1])
        --pages;
    const uint32_t positions = std::min(static_cast<uint32_t>(pages) * page_tokens_, positions_max);
    share_pages(held, std::span(chain.hashes).first(pages), positions);
    return positions;
}

/// Returns the published page after `parent` that agrees with the longest prefix of `content`.
std::optional<PageBranches::Found> StateCache::longest_page(const PageHash& parent,
                                                            const ContentRun& content) const {
    return branches_.longest(parent, content, [this](const PageHash& hash) { return is_published(hash); });
}

/// Fills the tables up to the last snapshot of recurrent state whose pages exist, and lets the sequence
/// continue from it.
uint32_t StateCache::find_snapshot(HeldState& held, const ContentRun& content, uint32_t positions_max,
                                   PartialPages partial) {
    const PageChain chain = page_chain(held.root, content, positions_max);
    for (std::size_t pages = chain.hashes.size() + 1; pages-- > 0;) {
        const auto begin = static_cast<uint32_t>(pages) * page_tokens_;
        if (begin > positions_max || (pages > 0 && !chain.can_resume[pages - 1]))
            continue;
        const PageHash& parent = pages == 0 ? held.root : chain.hashes[pages - 1];
        const std::size_t rest = partial == PartialPages::skip
                                     ? 0
                                     : std::min<std::size_t>(positions_max - begin, page_tokens_ - 1);
        const auto found = slots_.find(parent, content.part(begin, rest));
        if (!found)
            continue;
        const uint32_t position = begin + found->positions;
        const bool needs_page = found->positions > 0 && !pools_.empty();
        const auto page =
            needs_page ? longest_page(parent, content.part(begin, found->positions)) : std::nullopt;
        if (needs_page && (!page || page->positions < found->positions))
            continue;
        share_pages(held, std::span(chain.hashes).first(pages), position);
        if (page)
            share_page(held, page->hash);
        slots_.use(held.recurrent, *found, position);
        return position;
    }
    return 0;
}

uint32_t StateCache::count_missing(uint32_t group, const HeldState& held, uint32_t first,
                                   uint32_t end) const {
    const std::vector<PageId>& table = held.groups[group];
    uint32_t missing = 0;
    for (uint32_t i = first; i < end; ++i)
        missing += i >= table.size() || !pools_[group].is_exclusive(table[i]) ? 1 : 0;
    return missing;
}

bool StateCache::reserve(HeldState& held, uint32_t begin, uint32_t end, uint32_t spare,
                         std::vector<PageCopy>& copies) {
    const uint32_t first_page = begin / page_tokens_;
    for (uint32_t group = 0; group < pools_.size(); ++group) {
        const uint32_t end_page = divide_up(reserved_end(group, begin, end), page_tokens_);
        const uint32_t missing = count_missing(group, held, first_page, end_page);
        if (missing > 0 && uint64_t{missing} + spare > pools_[group].available())
            return false;
    }
    if (!slots_.reserve(held.recurrent))
        return false;
    held.hashes.resize(std::min<std::size_t>(held.hashes.size(), first_page));
    for (uint32_t group = 0; group < pools_.size(); ++group) {
        PagePool& pool = pools_[group];
        std::vector<PageId>& table = held.groups[group];
        const uint32_t end_page = divide_up(reserved_end(group, begin, end), page_tokens_);
        for (uint32_t i = first_page; i < end_page; ++i) {
            if (i < table.size() && pool.is_exclusive(table[i]))
                continue;
            const PageId page = *pool.allocate();
            if (i == table.size()) {
                table.push_back(page);
                continue;
            }
            if (begin > i * page_tokens_) // positions before `begin` need their content
                copies.push_back({.group = group, .from = table[i], .to = page});
            copy_sources_.push_back({group, table[i]});
            table[i] = page;
        }
    }
    return true;
}

void StateCache::advance(HeldState& held, uint32_t position) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        std::vector<PageId>& table = held.groups[group];
        const auto end = std::min<std::size_t>(first_needed(group, position), table.size());
        for (uint32_t& page = held.first_held[group]; page < end; ++page) {
            pools_[group].release(table[page], PagePool::Eviction::early);
            table[page] = no_page;
        }
    }
}

void StateCache::publish(HeldState& held, const ContentRun& content, uint32_t positions) {
    for (std::size_t i = held.hashes.size(); (i + 1) * page_tokens_ <= positions; ++i) {
        const PageHash& parent = i == 0 ? held.root : held.hashes.back();
        const ContentRun run = content.part(i * page_tokens_, page_tokens_);
        const PageHash hash = page_hash(key_, parent, run);
        publish_page(held, i, hash, run);
        held.hashes.push_back(hash);
    }
}

void StateCache::publish_all(HeldState& held, const ContentRun& content, uint32_t positions) {
    publish(held, content, positions);
    const uint32_t state_position = held.recurrent.position;
    if (state_position > 0 && state_position <= positions)
        slots_.publish(held.recurrent, parent_at(held, state_position), rest_at(content, state_position));
    const uint32_t rest = positions % page_tokens_;
    const std::size_t page = positions / page_tokens_;
    if (rest == 0 || held.hashes.size() != page)
        return;
    const PageHash& parent = page == 0 ? held.root : held.hashes.back();
    const ContentRun run = content.part(page * page_tokens_, rest);
    publish_page(held, page, page_hash(key_, parent, run), run);
}

/// Hash of the full pages before `position`, which are published.
const PageHash& StateCache::parent_at(const HeldState& held, uint32_t position) const {
    return position < page_tokens_ ? held.root : held.hashes[position / page_tokens_ - 1];
}

/// Content of the last page before `position`, if it is not full.
ContentRun StateCache::rest_at(const ContentRun& content, uint32_t position) const {
    const uint32_t begin = position / page_tokens_ * page_tokens_;
    return content.part(begin, position - begin);
}

void StateCache::snapshot(HeldState& held, const ContentRun& content) {
    const uint32_t position = held.recurrent.position;
    publish(held, content, position);
    slots_.snapshot(held.recurrent, parent_at(held, position), rest_at(content, position));
}

void StateCache::publish_page(HeldState& held, std::size_t page, const PageHash& hash,
                              const ContentRun& run) {
    if (pools_.empty())
        return;
    const PageHash& parent = page == 0 ? held.root : held.hashes[page - 1];
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        const PageId id = held.groups[group][page];
        if (id == no_page || !pools_[group].is_exclusive(id)) // one of a fork's shared pages is enough
            continue;
        if (pools_[group].publish(id, hash) && group == prefix_group_ && journal_ != nullptr)
            journal_->store(parent, hash, page, run);
    }
    branches_.add(parent, hash, run);
    if (branches_.size() > branches_per_page_max * page_count_max_)
        branches_.prune([this](const PageHash& known) { return is_published(known); });
}

void StateCache::invalidate(const HeldState& held) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        for (const PageId page : held.pages_of(group))
            pools_[group].invalidate(page);
        for (std::size_t i = 0; i < std::min<std::size_t>(held.first_held[group], held.hashes.size()); ++i) {
            if (const auto passed = pools_[group].find(held.hashes[i]))
                pools_[group].invalidate(*passed);
        }
    }
    slots_.invalidate(held.recurrent);
}

void StateCache::release(HeldState& held) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        std::vector<PageId>& table = held.groups[group];
        for (; !table.empty(); table.pop_back()) { // last page first: a page without its parents is useless
            if (table.back() != no_page)
                pools_[group].release(table.back());
        }
        held.first_held[group] = 0;
    }
    held.hashes.clear();
    slots_.release(held.recurrent);
}

HeldState StateCache::fork(const HeldState& held) {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        for (const PageId page : held.pages_of(group))
            pools_[group].retain(page);
    }
    HeldState copy = held;
    copy.recurrent = slots_.fork(held.recurrent);
    return copy;
}

void StateCache::end_batch() {
    for (const CopySource& source : copy_sources_)
        pools_[source.group].release(source.page);
    copy_sources_.clear();
}

Status StateCache::verify(std::span<const HeldState* const> held) const {
    for (std::size_t group = 0; group < pools_.size(); ++group) {
        std::vector<uint32_t> references(pools_[group].page_count());
        for (const HeldState* one : held) {
            for (const PageId page : one->pages_of(group))
                ++references[page];
        }
        for (const CopySource& source : copy_sources_)
            references[source.page] += source.group == group ? 1 : 0;
        if (const Status status = pools_[group].verify(references); !status)
            return status.error().while_doing(fmt::format("cache group {}", group));
    }
    std::vector<const HeldSlot*> slots;
    for (const HeldState* one : held)
        slots.push_back(&one->recurrent);
    if (const Status status = slots_.verify(slots); !status)
        return status.error().while_doing("slots of recurrent state");
    return {};
}

} // namespace etna::engine
