#include "tests/storage/reference_store.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <utility>

namespace etna::test {

using namespace server::storage;

namespace {

bool has_item(const std::vector<Item>& items, const std::string& id) {
    return std::ranges::any_of(items, [&](const Item& item) { return item.id == id; });
}

Page first_of(std::vector<Item> list, uint32_t limit) {
    Page page = {.has_more = list.size() > limit};
    list.resize(std::min<std::size_t>(list.size(), limit));
    page.items = std::move(list);
    return page;
}

} // namespace

uint64_t ReferenceStore::Entry::bytes() const {
    uint64_t sum = owner.size() + id.size();
    sum += response.object.size() + response.input.size() + response.events.size();
    sum += conversation.metadata.size();
    for (const Item& item : items)
        sum += item.id.size() + item.body.size();
    sum += completion.model.size() + completion.object.size() + completion.messages.size();
    for (const auto& [key, value] : completion.metadata)
        sum += key.size() + value.size();
    return sum;
}

const Bounds& ReferenceStore::bounds(Kind kind) const {
    return kind == Kind::response       ? options_.responses
           : kind == Kind::conversation ? options_.conversations
                                        : options_.completions;
}

bool ReferenceStore::is_visible(const Entry& entry) const {
    const Bounds& limits = bounds(entry.kind);
    const auto age = std::chrono::microseconds(options_.now_us() - entry.touched_us);
    return limits.entries_max > 0 && (limits.age_max.count() == 0 || age <= limits.age_max);
}

const ReferenceStore::Entry* ReferenceStore::find(Kind kind, const std::string& owner,
                                                  const std::string& id) const {
    for (const Entry& entry : entries_) {
        if (entry.kind == kind && entry.owner == owner && entry.id == id && is_visible(entry))
            return &entry;
    }
    return nullptr;
}

ReferenceStore::Entries ReferenceStore::without_expired() const {
    Entries left;
    std::ranges::copy_if(entries_, std::back_inserter(left), [&](const Entry& e) { return is_visible(e); });
    return left;
}

ReferenceStore::Entry* ReferenceStore::find(Entries& entries, Kind kind, const std::string& owner,
                                            const std::string& id) const {
    const auto found = std::ranges::find_if(
        entries, [&](const Entry& e) { return e.kind == kind && e.owner == owner && e.id == id; });
    return found == entries.end() ? nullptr : &*found;
}

ReferenceStore::Entry& ReferenceStore::upsert(Entries& entries, Kind kind, const std::string& owner,
                                              const std::string& id) {
    if (Entry* there = find(entries, kind, owner, id))
        return *there;
    entries.push_back({.kind = kind, .owner = owner, .id = id});
    touch(entries.back());
    return entries.back();
}

void ReferenceStore::touch(Entry& entry) {
    entry.touched_us = options_.now_us();
    entry.freshness = ++freshness_;
}

bool ReferenceStore::remove_oldest(Entries& entries, const std::string& owner, std::optional<Kind> kind,
                                   const std::vector<uint64_t>& inserted) {
    auto oldest = entries.end();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
        const bool is_pending = entry->kind == Kind::response && entry->response.is_pending;
        const bool is_candidate = entry->owner == owner && (!kind || entry->kind == *kind) && !is_pending &&
                                  !std::ranges::count(inserted, entry->freshness);
        if (is_candidate && (oldest == entries.end() || entry->freshness < oldest->freshness))
            oldest = entry;
    }
    if (oldest == entries.end())
        return false;
    entries.erase(oldest);
    return true;
}

/// Evicts one entry of the owner with the largest amount, if that exceeds its share.
bool ReferenceStore::remove_surplus(Entries& entries, const Shares& shares, uint64_t bound,
                                    std::optional<Kind> kind, const std::vector<uint64_t>& inserted) {
    std::vector<std::pair<std::string, uint64_t>> largest(shares.begin(), shares.end());
    std::ranges::stable_sort(largest, std::greater(), [](const auto& share) { return share.second; });
    return std::ranges::any_of(largest, [&](const auto& share) {
        return share.second > bound / largest.size() && remove_oldest(entries, share.first, kind, inserted);
    });
}

ReferenceStore::Shares ReferenceStore::counts_of(const Entries& entries, Kind kind) {
    Shares counts;
    for (const Entry& entry : entries) {
        if (entry.kind == kind)
            ++counts[entry.owner];
    }
    return counts;
}

ReferenceStore::Shares ReferenceStore::bytes_of(const Entries& entries, std::vector<Chain> chains) {
    Shares sums;
    for (const Entry& entry : entries) {
        sums[entry.owner] += entry.bytes();
        chains.push_back(entry.chain);
    }
    std::set<const Turn*> turns;
    for (const Chain& chain : chains) {
        for (const Turn* turn = chain.get(); turn != nullptr; turn = turn->previous.get())
            turns.insert(turn);
    }
    for (const Turn* turn : turns)
        sums[turn->owner] += turn->text.size();
    std::erase_if(sums, [](const auto& share) { return share.second == 0; });
    return sums;
}

uint64_t ReferenceStore::sum_of(const Shares& shares) {
    uint64_t sum = 0;
    for (const auto& [owner, amount] : shares)
        sum += amount;
    return sum;
}

bool ReferenceStore::commit(Entries entries, const std::vector<uint64_t>& inserted, const Chain& chain) {
    for (const Kind kind : {Kind::response, Kind::conversation, Kind::completion}) {
        const uint64_t bound = bounds(kind).entries_max;
        const auto shares = [&] { return counts_of(entries, kind); };
        while (sum_of(shares()) > bound && remove_surplus(entries, shares(), bound, kind, inserted)) {
        }
    }
    if (const uint64_t bound = options_.bytes_max; bound > 0) {
        uint64_t needed = 0;
        for (const Entry& entry : entries)
            needed += std::ranges::count(inserted, entry.freshness) ? entry.bytes() : 0;
        for (const Turn* turn = chain.get(); turn != nullptr; turn = turn->previous.get())
            needed += turn->text.size();
        const auto shares = [&] { return bytes_of(entries, held_); };
        while (sum_of(shares()) > bound && remove_surplus(entries, shares(), bound, std::nullopt, inserted)) {
        }
        const bool is_over = sum_of(shares()) > bound;
        if (needed > bound || (is_over && needed > bound / shares().size()))
            return false;
    }
    entries_ = std::move(entries);
    released_.clear();
    return true;
}

bool ReferenceStore::put(const Response& response, const Chain& previous, const Addition* addition) {
    const bool is_stored = options_.responses.entries_max > 0;
    if (!is_stored && (addition == nullptr || options_.conversations.entries_max == 0))
        return true;
    Entries entries = without_expired();
    std::vector<uint64_t> inserted;
    Chain chain;
    if (is_stored) {
        chain = std::make_shared<const Turn>(Turn{response.turn, response.owner, previous});
        Entry& entry = upsert(entries, Kind::response, response.owner, response.id);
        entry.response = response;
        entry.chain = chain;
        inserted.push_back(entry.freshness);
    }
    if (addition != nullptr) {
        if (Entry* entry = find(entries, Kind::conversation, response.owner, addition->conversation)) {
            for (const Item& item : addition->items) {
                if (!has_item(entry->items, item.id))
                    entry->items.push_back(item);
            }
            touch(*entry);
            inserted.push_back(entry->freshness);
        }
    }
    return commit(std::move(entries), inserted, chain);
}

bool ReferenceStore::put(const Completion& completion) {
    if (options_.completions.entries_max == 0)
        return true;
    Entries entries = without_expired();
    Entry& entry = upsert(entries, Kind::completion, completion.owner, completion.id);
    entry.completion = completion;
    const uint64_t inserted = entry.freshness;
    return commit(std::move(entries), {inserted});
}

bool ReferenceStore::create(const Conversation& conversation, const Items& items) {
    if (options_.conversations.entries_max == 0)
        return true;
    Entries entries = without_expired();
    if (find(entries, Kind::conversation, conversation.owner, conversation.id))
        return false;
    Entry& entry = upsert(entries, Kind::conversation, conversation.owner, conversation.id);
    entry.conversation = conversation;
    entry.conversation.created_us = options_.now_us();
    for (const Item& item : items) {
        if (has_item(entry.items, item.id))
            return false;
        entry.items.push_back(item);
    }
    const uint64_t inserted = entry.freshness;
    return commit(std::move(entries), {inserted});
}

std::optional<bool> ReferenceStore::set_metadata(const std::string& owner, const std::string& id,
                                                 const std::string& metadata) {
    Entries entries = without_expired();
    Entry* entry = find(entries, Kind::conversation, owner, id);
    std::vector<uint64_t> inserted;
    if (entry != nullptr) {
        entry->conversation.metadata = metadata;
        inserted.push_back(entry->freshness);
    }
    return commit(std::move(entries), inserted) ? std::optional(entry != nullptr) : std::nullopt;
}

std::optional<bool> ReferenceStore::add_items(const std::string& owner, const Addition& addition) {
    Entries entries = without_expired();
    Entry* entry = find(entries, Kind::conversation, owner, addition.conversation);
    std::vector<uint64_t> inserted;
    if (entry != nullptr) {
        for (const Item& item : addition.items) {
            if (has_item(entry->items, item.id))
                return std::nullopt;
            entry->items.push_back(item);
        }
        touch(*entry);
        inserted.push_back(entry->freshness);
    }
    return commit(std::move(entries), inserted) ? std::optional(entry != nullptr) : std::nullopt;
}

bool ReferenceStore::delete_item(const std::string& owner, const std::string& id, const std::string& item) {
    Entries entries = without_expired();
    Entry* entry = find(entries, Kind::conversation, owner, id);
    const bool was_there = entry != nullptr && has_item(entry->items, item);
    if (was_there)
        std::erase_if(entry->items, [&](const Item& candidate) { return candidate.id == item; });
    commit(std::move(entries));
    return was_there;
}

bool ReferenceStore::remove(Kind kind, const std::string& owner, const std::string& id) {
    Entries entries = without_expired();
    const bool was_there = std::erase_if(entries, [&](const Entry& entry) {
                               return entry.kind == kind && entry.owner == owner && entry.id == id;
                           }) > 0;
    commit(std::move(entries));
    return was_there;
}

void ReferenceStore::restart() {
    held_.clear();
    commit(without_expired());
}

void ReferenceStore::release(const Chain& chain) {
    held_.erase(std::ranges::find(held_, chain));
    released_.push_back(chain);
}

std::optional<Response> ReferenceStore::response(const std::string& owner, const std::string& id) const {
    const Entry* entry = find(Kind::response, owner, id);
    return entry != nullptr ? std::optional(entry->response) : std::nullopt;
}

ReferenceStore::Chain ReferenceStore::history(const std::string& owner, const std::string& id) const {
    const Entry* entry = find(Kind::response, owner, id);
    return entry != nullptr && !entry->response.is_pending ? entry->chain : nullptr;
}

std::vector<Response> ReferenceStore::pending() const {
    std::vector<Response> found;
    for (const Entry& entry : entries_) {
        if (is_visible(entry) && entry.response.is_pending)
            found.push_back(entry.response);
    }
    return found;
}

std::optional<Conversation> ReferenceStore::conversation(const std::string& owner,
                                                         const std::string& id) const {
    const Entry* entry = find(Kind::conversation, owner, id);
    return entry != nullptr ? std::optional(entry->conversation) : std::nullopt;
}

std::optional<ReferenceStore::Items> ReferenceStore::items(const std::string& owner,
                                                           const std::string& id) const {
    const Entry* entry = find(Kind::conversation, owner, id);
    return entry != nullptr ? std::optional(entry->items) : std::nullopt;
}

std::optional<Completion> ReferenceStore::completion(const std::string& owner, const std::string& id) const {
    const Entry* entry = find(Kind::completion, owner, id);
    return entry != nullptr ? std::optional(entry->completion) : std::nullopt;
}

std::optional<Page> ReferenceStore::items(const std::string& owner, const std::string& id,
                                          const PageRequest& request) const {
    const auto all = items(owner, id);
    const auto list = all ? items_after(*all, request) : std::nullopt;
    return list ? std::optional(first_of(*list, request.limit)) : std::nullopt;
}

std::optional<Page> ReferenceStore::completions(const std::string& owner, const CompletionFilter& filter,
                                                const PageRequest& request) const {
    Items all;
    for (const Entry& entry : entries_) {
        if (entry.kind == Kind::completion && entry.owner == owner && is_visible(entry))
            all.push_back({.id = entry.id, .body = entry.completion.object});
    }
    auto list = items_after(all, request);
    if (!list)
        return std::nullopt;
    std::erase_if(*list, [&](const Item& item) {
        const Completion candidate = completion(owner, item.id).value();
        const bool fits = std::ranges::all_of(filter.metadata, [&](const auto& required) {
            const auto found = candidate.metadata.find(required.first);
            return found != candidate.metadata.end() && found->second == required.second;
        });
        return !fits || (filter.model && *filter.model != candidate.model);
    });
    return first_of(*list, request.limit);
}

Store::Size ReferenceStore::size() const {
    std::vector<Chain> chains = held_;
    chains.insert(chains.end(), released_.begin(), released_.end());
    const auto count = [&](Kind kind) {
        return static_cast<uint64_t>(std::ranges::count(entries_, kind, &Entry::kind));
    };
    return {.responses = count(Kind::response),
            .conversations = count(Kind::conversation),
            .completions = count(Kind::completion),
            .bytes = sum_of(bytes_of(entries_, std::move(chains)))};
}

std::optional<ReferenceStore::Items> ReferenceStore::items_after(Items all, const PageRequest& request) {
    if (request.order == Order::descending)
        std::ranges::reverse(all);
    if (request.after.empty())
        return all;
    const auto found = std::ranges::find(all, request.after, &Item::id);
    if (found == all.end())
        return std::nullopt;
    return Items(found + 1, all.end());
}

} // namespace etna::test
