#include "server/storage/change.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

Result<std::optional<int64_t>> find_conversation(const LockedStore& store, const Owner& owner,
                                                 const std::string& id) {
    return find_entry(store, {Kind::conversation, owner, id});
}

/// Empty if there is no item `after`.
Result<std::optional<Page>> page_of_items(const LockedStore& store, int64_t conversation,
                                          const PageRequest& request) {
    Database& database = store.database();
    const bool is_ascending = request.order == Order::ascending;
    int64_t after = is_ascending ? 0 : std::numeric_limits<int64_t>::max();
    if (!request.after.empty()) {
        ETNA_TRY(const auto found,
                 database.number("SELECT number FROM items WHERE conversation = ? AND id = ?",
                                 {conversation, request.after}));
        if (!found)
            return std::optional<Page>();
        after = *found;
    }
    ETNA_TRY(Statement statement,
             database.prepare(
                 is_ascending
                     ? "SELECT id, body FROM items WHERE conversation = ? AND number > ? ORDER BY number"
                     : "SELECT id, body FROM items WHERE conversation = ? AND number < ? "
                       "ORDER BY number DESC",
                 {conversation, after}));
    Page page;
    for (;;) {
        ETNA_TRY(page.has_more, statement.step());
        if (!page.has_more || page.items.size() == request.limit)
            return std::optional(std::move(page));
        page.items.push_back({.id = statement.bytes(0), .body = statement.bytes(1)});
    }
}

/// Returns whether it existed.
Result<bool> remove_item(const Change& change, int64_t conversation, const std::string& id) {
    ETNA_TRY(const auto bytes, change.database().number("DELETE FROM items WHERE conversation = ? AND id = ? "
                                                        "RETURNING length(id) + length(body)",
                                                        {conversation, id}));
    if (!bytes)
        return false;
    ETNA_CHECK(grow_entry(change, conversation, -*bytes));
    return true;
}

} // namespace

Status append_items(const Change& change, int64_t conversation, const std::vector<Item>& items,
                    OnDuplicate on_duplicate) {
    int64_t bytes = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        ETNA_TRY(const auto added,
                 change.database().number("INSERT INTO items (conversation, id, body) VALUES (?, ?, ?) "
                                          "ON CONFLICT (conversation, id) DO NOTHING RETURNING number",
                                          {conversation, item.id, item.body}));
        if (!added && on_duplicate == OnDuplicate::refuse) {
            return invalid_argument(
                fmt::format("item {} of {}: the conversation has an item with the same id", i + 1,
                            items.size()),
                "leave the item out, or give it another id");
        }
        bytes += added ? bytes_of(item.id) + bytes_of(item.body) : 0;
    }
    ETNA_CHECK(grow_entry(change, conversation, bytes));
    return touch_entry(change, conversation);
}

Status Store::create(const Conversation& conversation, const std::vector<Item>& items) {
    if (impl_->options.conversations.entries_max == 0)
        return {};
    return retry_change(*impl_, [&]() -> Status {
        ETNA_TRY(Change change, Change::begin(*impl_));
        ETNA_TRY(const auto existing, find_conversation(change, conversation.owner, conversation.id));
        if (existing)
            return invalid_argument("a conversation with this id exists already");
        ETNA_TRY(const int64_t number,
                 add_entry(change, {Kind::conversation, conversation.owner, conversation.id},
                           bytes_of(conversation.metadata)));
        ETNA_CHECK(
            change.database().run("INSERT INTO conversations (number, created_us, metadata) VALUES (?, ?, ?)",
                                  {number, change.now_us(), conversation.metadata}));
        ETNA_CHECK(append_items(change, number, items, OnDuplicate::refuse));
        return change.commit({.entries = {number}});
    });
}

Result<std::optional<Conversation>> Store::conversation(const Owner& owner, const std::string& id) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_conversation(store, owner, id));
    if (!number)
        return std::optional<Conversation>();
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT metadata, created_us FROM conversations WHERE number = ?",
                                      {*number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return store.database().damaged("the metadata of a conversation are missing");
    return std::optional(
        Conversation{.id = id, .owner = owner, .metadata = row.bytes(0), .created_us = row.number(1)});
}

Result<bool> Store::set_metadata(const Owner& owner, const std::string& id, const std::string& metadata) {
    return retry_change(*impl_, [&]() -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*impl_));
        ETNA_TRY(const auto number, find_conversation(change, owner, id));
        if (number) {
            Database& database = change.database();
            ETNA_TRY(
                const auto before,
                database.number("SELECT length(metadata) FROM conversations WHERE number = ?", {*number}));
            ETNA_CHECK(
                database.run("UPDATE conversations SET metadata = ? WHERE number = ?", {metadata, *number}));
            ETNA_CHECK(grow_entry(change, *number, bytes_of(metadata) - before.value_or(0)));
        }
        ETNA_CHECK(change.commit({.entries = {number.value_or(0)}}));
        return number.has_value();
    });
}

Result<bool> Store::delete_conversation(const Owner& owner, const std::string& id) {
    return delete_entry(*impl_, {Kind::conversation, owner, id});
}

Result<bool> Store::add_items(const Owner& owner, const Addition& addition, OnDuplicate on_duplicate) {
    return retry_change(*impl_, [&]() -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*impl_));
        ETNA_TRY(const auto number, find_conversation(change, owner, addition.conversation));
        if (number)
            ETNA_CHECK(append_items(change, *number, addition.items, on_duplicate));
        ETNA_CHECK(change.commit({.entries = {number.value_or(0)}}));
        return number.has_value();
    });
}

Result<std::optional<Page>> Store::items(const Owner& owner, const std::string& id,
                                         const PageRequest& request) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_conversation(store, owner, id));
    if (!number)
        return std::optional<Page>();
    return page_of_items(store, *number, request);
}

Result<std::optional<std::vector<Item>>> Store::items(const Owner& owner, const std::string& id) {
    ETNA_TRY(auto page, items(owner, id, {.limit = std::numeric_limits<uint32_t>::max()}));
    if (!page)
        return std::optional<std::vector<Item>>();
    return std::optional(std::move(page->items));
}

Result<std::optional<Item>> Store::item(const Owner& owner, const std::string& id, const std::string& item) {
    const LockedStore store(*impl_);
    ETNA_TRY(const auto number, find_conversation(store, owner, id));
    if (!number)
        return std::optional<Item>();
    ETNA_TRY(Statement row, store.database().prepare(
                                "SELECT body FROM items WHERE conversation = ? AND id = ?", {*number, item}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Item{.id = item, .body = row.bytes(0)}) : std::nullopt;
}

Result<std::optional<Item>> Store::item(const Owner& owner, const std::string& item) {
    const LockedStore store(*impl_);
    if (!store.stores(Kind::conversation))
        return std::optional<Item>();
    ETNA_TRY(Statement row, store.database().prepare(
                                "SELECT body FROM items CROSS JOIN entries ON entries.number = conversation "
                                "WHERE items.id = ? AND owner = ? AND touched_us >= ? "
                                "ORDER BY items.number DESC LIMIT 1",
                                {item, owner, store.oldest_us(Kind::conversation)}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Item{.id = item, .body = row.bytes(0)}) : std::nullopt;
}

Result<bool> Store::delete_item(const Owner& owner, const std::string& id, const std::string& item) {
    return retry_removal(*impl_, [&](Erasure erasure) -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*impl_));
        const ErasureGuard guard(change.database(), erasure);
        ETNA_TRY(const auto number, find_conversation(change, owner, id));
        bool was_there = false;
        if (number) {
            ETNA_TRY(was_there, remove_item(change, *number, item));
        }
        ETNA_CHECK(change.commit());
        return was_there;
    });
}

} // namespace etna::server::storage
