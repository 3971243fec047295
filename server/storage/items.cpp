#include "server/storage/items.hpp"

#include <limits>

#include <fmt/format.h>

namespace etna::server::storage {

Status append_items(const Change& change, int64_t conversation, const std::vector<Item>& items,
                    Repeated repeated) {
    int64_t bytes = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        ETNA_TRY(const auto added,
                 change.database().number("INSERT INTO items (conversation, id, body) VALUES (?, ?, ?) "
                                          "ON CONFLICT (conversation, id) DO NOTHING RETURNING number",
                                          {conversation, item.id, item.body}));
        if (!added && repeated == Repeated::refused) {
            return Error{
                ErrorKind::invalid_argument,
                fmt::format("item {} of {}: the conversation has one of the same id", i + 1, items.size()),
                "leave the item out, or give it another id"};
        }
        bytes += added ? bytes_of(item.id) + bytes_of(item.body) : 0;
    }
    ETNA_CHECK(grow_entry(change, conversation, bytes));
    return touch_entry(change, conversation);
}

Result<std::optional<Page>> page_of_items(const Reading& reading, int64_t conversation,
                                          const PageWish& wish) {
    Database& database = reading.database();
    const bool is_ascending = wish.order == Order::ascending;
    int64_t after = is_ascending ? 0 : std::numeric_limits<int64_t>::max();
    if (!wish.after.empty()) {
        ETNA_TRY(const auto found,
                 database.number("SELECT number FROM items WHERE conversation = ? AND id = ?",
                                 {conversation, wish.after}));
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
        if (!page.has_more || page.items.size() == wish.limit)
            return std::optional(std::move(page));
        page.items.push_back({.id = statement.bytes(0), .body = statement.bytes(1)});
    }
}

Result<bool> remove_item(const Change& change, int64_t conversation, const std::string& id) {
    ETNA_TRY(const auto bytes, change.database().number("DELETE FROM items WHERE conversation = ? AND id = ? "
                                                        "RETURNING length(id) + length(body)",
                                                        {conversation, id}));
    if (!bytes)
        return false;
    ETNA_CHECK(grow_entry(change, conversation, -*bytes));
    return true;
}

} // namespace etna::server::storage
