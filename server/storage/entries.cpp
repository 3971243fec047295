#include "server/storage/entries.hpp"

#include "server/storage/turns.hpp"

namespace etna::server::storage {
namespace {

int64_t number_of(Kind kind) {
    return static_cast<int64_t>(kind);
}

int64_t bytes_with_name(const EntryName& name, int64_t bytes) {
    return bytes + bytes_of(name.owner) + bytes_of(name.id);
}

} // namespace

Result<std::optional<int64_t>> find_entry(const Reading& reading, const EntryName& name) {
    if (!reading.keeps(name.kind))
        return std::optional<int64_t>();
    return reading.database().number(
        "SELECT number FROM entries WHERE kind = ? AND owner = ? AND id = ? AND touched_us >= ?",
        {number_of(name.kind), name.owner, name.id, reading.oldest_us(name.kind)});
}

Result<int64_t> add_entry(const Reading& reading, const EntryName& name, int64_t bytes) {
    ETNA_TRY(
        const auto number,
        reading.database().number(
            "INSERT INTO entries (kind, owner, id, touched_us, freshness, bytes) "
            "VALUES (?, ?, ?, ?, (SELECT coalesce(max(freshness), 0) + 1 FROM entries), ?) RETURNING number",
            {number_of(name.kind), name.owner, name.id, reading.now_us(), bytes_with_name(name, bytes)}));
    return *number;
}

Status grow_entry(const Reading& reading, int64_t number, int64_t bytes) {
    return reading.database().run("UPDATE entries SET bytes = bytes + ? WHERE number = ?", {bytes, number});
}

Status touch_entry(const Reading& reading, int64_t number) {
    return reading.database().run("UPDATE entries SET touched_us = ?, "
                                  "freshness = (SELECT max(freshness) + 1 FROM entries) WHERE number = ?",
                                  {reading.now_us(), number});
}

Status remove_entry(const Reading& reading, int64_t number) {
    Database& database = reading.database();
    ETNA_TRY(const auto node,
             database.number("DELETE FROM responses WHERE number = ? RETURNING node", {number}));
    ETNA_CHECK(database.run("DELETE FROM entries WHERE number = ?", {number}));
    return node ? release_turns(database, reading.pins(), *node) : Status();
}

Result<int64_t> place_entry(const Reading& reading, const EntryName& name, int64_t bytes) {
    ETNA_TRY(const auto there, find_entry(reading, name));
    if (!there)
        return add_entry(reading, name, bytes);
    ETNA_CHECK(reading.database().run("UPDATE entries SET bytes = ? WHERE number = ?",
                                      {bytes_with_name(name, bytes), *there}));
    return *there;
}

} // namespace etna::server::storage
