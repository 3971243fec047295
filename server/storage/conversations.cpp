#include "server/storage/change.hpp"
#include "server/storage/items.hpp"

#include <limits>
#include <utility>

namespace etna::server::storage {
namespace {

Result<std::optional<int64_t>> find_conversation(const Reading& reading, const Owner& owner,
                                                 const std::string& id) {
    return find_entry(reading, {Kind::conversation, owner, id});
}

} // namespace

Status Store::create(const Conversation& conversation, const std::vector<Item>& items) {
    if (content_->options.conversations.entries_max == 0)
        return {};
    return make_change(*content_, [&]() -> Status {
        ETNA_TRY(Change change, Change::begin(*content_));
        ETNA_TRY(const auto there, find_conversation(change, conversation.owner, conversation.id));
        if (there)
            return Error{ErrorKind::invalid_argument, "there is a conversation of this id already"};
        ETNA_TRY(const int64_t number,
                 add_entry(change, {Kind::conversation, conversation.owner, conversation.id},
                           bytes_of(conversation.metadata)));
        ETNA_CHECK(
            change.database().run("INSERT INTO conversations (number, created_us, metadata) VALUES (?, ?, ?)",
                                  {number, change.now_us(), conversation.metadata}));
        ETNA_CHECK(append_items(change, number, items, Repeated::refused));
        return change.commit({.entries = {number}});
    });
}

Result<std::optional<Conversation>> Store::conversation(const Owner& owner, const std::string& id) {
    const Reading reading(*content_);
    ETNA_TRY(const auto number, find_conversation(reading, owner, id));
    if (!number)
        return std::optional<Conversation>();
    ETNA_TRY(Statement row,
             reading.database().prepare("SELECT metadata, created_us FROM conversations WHERE number = ?",
                                        {*number}));
    ETNA_TRY(const bool is_there, row.step());
    if (!is_there)
        return reading.database().damaged("a conversation has lost its texts");
    return std::optional(
        Conversation{.id = id, .owner = owner, .metadata = row.bytes(0), .created_us = row.number(1)});
}

Result<bool> Store::set_metadata(const Owner& owner, const std::string& id, const std::string& metadata) {
    return make_change(*content_, [&]() -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*content_));
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
    return delete_entry(*content_, {Kind::conversation, owner, id});
}

Result<bool> Store::add_items(const Owner& owner, const Addition& addition, Repeated repeated) {
    return make_change(*content_, [&]() -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*content_));
        ETNA_TRY(const auto number, find_conversation(change, owner, addition.conversation));
        if (number)
            ETNA_CHECK(append_items(change, *number, addition.items, repeated));
        ETNA_CHECK(change.commit({.entries = {number.value_or(0)}}));
        return number.has_value();
    });
}

Result<std::optional<Page>> Store::items(const Owner& owner, const std::string& id, const PageWish& wish) {
    const Reading reading(*content_);
    ETNA_TRY(const auto number, find_conversation(reading, owner, id));
    if (!number)
        return std::optional<Page>();
    return page_of_items(reading, *number, wish);
}

Result<std::optional<std::vector<Item>>> Store::items(const Owner& owner, const std::string& id) {
    ETNA_TRY(auto page, items(owner, id, {.limit = std::numeric_limits<uint32_t>::max()}));
    if (!page)
        return std::optional<std::vector<Item>>();
    return std::optional(std::move(page->items));
}

Result<std::optional<Item>> Store::item(const Owner& owner, const std::string& id, const std::string& item) {
    const Reading reading(*content_);
    ETNA_TRY(const auto number, find_conversation(reading, owner, id));
    if (!number)
        return std::optional<Item>();
    ETNA_TRY(Statement row, reading.database().prepare(
                                "SELECT body FROM items WHERE conversation = ? AND id = ?", {*number, item}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Item{.id = item, .body = row.bytes(0)}) : std::nullopt;
}

Result<std::optional<Item>> Store::item(const Owner& owner, const std::string& item) {
    const Reading reading(*content_);
    if (!reading.keeps(Kind::conversation))
        return std::optional<Item>();
    ETNA_TRY(Statement row, reading.database().prepare(
                                "SELECT body FROM items CROSS JOIN entries ON entries.number = conversation "
                                "WHERE items.id = ? AND owner = ? AND touched_us >= ? "
                                "ORDER BY items.number DESC LIMIT 1",
                                {item, owner, reading.oldest_us(Kind::conversation)}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Item{.id = item, .body = row.bytes(0)}) : std::nullopt;
}

Result<bool> Store::delete_item(const Owner& owner, const std::string& id, const std::string& item) {
    return make_removal(*content_, [&](bool overwrites) -> Result<bool> {
        ETNA_TRY(Change change, Change::begin(*content_));
        const Overwriting overwriting(change.database(), overwrites);
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
