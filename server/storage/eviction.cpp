#include "server/storage/eviction.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

constexpr const char* usage_tables = R"(
-- Sums over the entries of each owner and kind, and over its nodes as kind 3, as in totals.
CREATE TEMP TABLE shares (
    owner BLOB NOT NULL,
    kind INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (owner, kind)
) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE node_owners (
    node INTEGER PRIMARY KEY,
    owner BLOB NOT NULL
) STRICT;

CREATE TEMP TRIGGER share_added AFTER INSERT ON main.entries BEGIN
    INSERT INTO shares VALUES (new.owner, new.kind, 1, new.bytes)
        ON CONFLICT (owner, kind) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;
CREATE TEMP TRIGGER share_resized AFTER UPDATE OF bytes ON main.entries BEGIN
    UPDATE shares SET bytes = bytes + new.bytes - old.bytes WHERE owner = new.owner AND kind = new.kind;
END;
CREATE TEMP TRIGGER share_removed AFTER DELETE ON main.entries BEGIN
    UPDATE shares SET count = count - 1, bytes = bytes - old.bytes
        WHERE owner = old.owner AND kind = old.kind;
END;
CREATE TEMP TRIGGER node_owned AFTER INSERT ON node_owners BEGIN
    INSERT INTO shares SELECT new.owner, 3, 1, length(turn) FROM nodes WHERE number = new.node
        ON CONFLICT (owner, kind) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;
CREATE TEMP TRIGGER node_disowned AFTER DELETE ON main.nodes BEGIN
    UPDATE shares SET count = count - 1, bytes = bytes - length(old.turn)
        WHERE kind = 3 AND owner = (SELECT owner FROM node_owners WHERE node = old.number);
    DELETE FROM node_owners WHERE node = old.number;
END;

INSERT INTO shares SELECT owner, kind, count(*), sum(bytes) FROM entries GROUP BY owner, kind;
-- A node belongs to the owner of a response at it, or later in its history.
INSERT OR IGNORE INTO node_owners
WITH RECURSIVE owned (node, owner) AS (
    SELECT node, owner FROM responses CROSS JOIN entries ON entries.number = responses.number
    UNION
    SELECT parent, owner FROM owned CROSS JOIN nodes ON nodes.number = node WHERE parent IS NOT NULL
)
SELECT node, owner FROM owned;
)";

/// An owner and its amount of some resource.
struct OwnerUsage {
    Owner owner;
    uint64_t amount = 0;
};

Result<std::vector<OwnerUsage>> read_usage(Statement row) {
    std::vector<OwnerUsage> usage;
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return usage;
        usage.push_back({.owner = row.bytes(0), .amount = static_cast<uint64_t>(row.number(1))});
    }
}

/// Owners with entries of the kind and their counts, largest first.
Result<std::vector<OwnerUsage>> owners_by_count(const LockedStore& store, Kind kind) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT owner, count FROM shares "
                                      "WHERE kind = ? AND count > 0 ORDER BY count DESC, owner",
                                      {static_cast<int64_t>(kind)}));
    return read_usage(std::move(row));
}

/// All owners and their bytes, largest first.
Result<std::vector<OwnerUsage>> owners_by_bytes(const LockedStore& store) {
    ETNA_TRY(Statement row,
             store.database().prepare("SELECT owner, sum(bytes) FROM shares GROUP BY owner "
                                      "HAVING sum(bytes) > 0 ORDER BY sum(bytes) DESC, owner"));
    return read_usage(std::move(row));
}

/// The fair share of each owner.
uint64_t share_of(uint64_t bound, const std::vector<OwnerUsage>& owners) {
    return owners.empty() ? bound : bound / owners.size();
}

/// An owner's oldest entry of a kind, except entries just added and pending ones, which must remain
/// retrievable.
struct Oldest {
    int64_t number = 0;
    int64_t freshness = 0;
};

Result<std::optional<Oldest>> oldest_of(const LockedStore& store, const Owner& owner, Kind kind,
                                        const Inserted& inserted) {
    ETNA_TRY(Statement row,
             store.database().prepare(
                 "SELECT number, freshness FROM entries WHERE owner = ? AND kind = ? "
                 "AND number NOT IN (?, ?) "
                 "AND number NOT IN (SELECT number FROM responses WHERE is_pending) "
                 "ORDER BY freshness LIMIT 1",
                 {owner, static_cast<int64_t>(kind), inserted.entries[0], inserted.entries[1]}));
    ETNA_TRY(const bool is_there, row.step());
    return is_there ? std::optional(Oldest{.number = row.number(0), .freshness = row.number(1)})
                    : std::nullopt;
}

/// The entry to evict: the oldest one of the owner with the most, among owners over their share. Empty if the
/// surplus is pending, in use by a live history, or just added.
Result<std::optional<int64_t>> find_victim(const LockedStore& store, const std::vector<OwnerUsage>& owners,
                                           uint64_t share, std::span<const Kind> of_kinds,
                                           const Inserted& inserted) {
    for (const OwnerUsage& usage : owners) {
        std::optional<Oldest> victim;
        for (const Kind kind : of_kinds) {
            if (usage.amount <= share)
                break;
            ETNA_TRY(const auto oldest, oldest_of(store, usage.owner, kind, inserted));
            if (oldest && (!victim || oldest->freshness < victim->freshness))
                victim = oldest;
        }
        if (victim)
            return std::optional(victim->number);
    }
    return std::optional<int64_t>();
}

/// The cost is that of the removed entries, plus reading each owner's counts.
Status evict_entries(const LockedStore& store, Kind kind, const Inserted& inserted) {
    const uint64_t entries_max = store.bounds(kind).entries_max;
    for (;;) {
        ETNA_TRY(const auto count, store.database().number("SELECT count FROM totals WHERE kind = ?",
                                                           {static_cast<int64_t>(kind)}));
        if (static_cast<uint64_t>(count.value_or(0)) <= entries_max)
            return {};
        ETNA_TRY(const auto owners, owners_by_count(store, kind));
        ETNA_TRY(const auto victim,
                 find_victim(store, owners, share_of(entries_max, owners), std::span(&kind, 1), inserted));
        if (!victim)
            return {};
        ETNA_CHECK(remove_entry(store, *victim));
    }
}

/// Checks that the added entries fit if all else of their owner is evicted.
Status check_fits(const LockedStore& store, const Inserted& inserted, uint64_t bytes_max,
                  std::string_view scope) {
    ETNA_TRY(const auto own, store.database().number("SELECT sum(bytes) FROM entries WHERE number IN (?, ?)",
                                                     {inserted.entries[0], inserted.entries[1]}));
    const int64_t bytes = own.value_or(0) + inserted.history_bytes;
    if (static_cast<uint64_t>(bytes) <= bytes_max)
        return {};
    return invalid_argument(
        fmt::format("the entry has {} bytes, including the turns that it continues; the limit {} is {}",
                    bytes, scope, bytes_max),
        "store less, or raise the server's limit");
}

Status evict_bytes(const LockedStore& store, const Inserted& inserted) {
    for (;;) {
        ETNA_TRY(const auto bytes, store.database().number("SELECT sum(bytes) FROM totals"));
        if (static_cast<uint64_t>(bytes.value_or(0)) <= store.bytes_max())
            return {};
        ETNA_TRY(const auto owners, owners_by_bytes(store));
        const uint64_t share = share_of(store.bytes_max(), owners);
        ETNA_TRY(const auto victim, find_victim(store, owners, share, kinds, inserted));
        if (!victim)
            return check_fits(store, inserted, share, "of a key that shares the store");
        ETNA_CHECK(remove_entry(store, *victim));
    }
}

} // namespace

Status track_usage(Database& database) {
    return database.execute(usage_tables);
}

Status remove_expired(const LockedStore& store) {
    for (const Kind kind : kinds) {
        for (;;) {
            ETNA_TRY(const auto expired,
                     store.database().number(
                         "SELECT number FROM entries WHERE kind = ? AND touched_us < ? LIMIT 1",
                         {static_cast<int64_t>(kind), store.oldest_us(kind)}));
            if (!expired)
                break;
            ETNA_CHECK(remove_entry(store, *expired));
        }
    }
    return {};
}

Status evict_surplus(const LockedStore& store, const Inserted& inserted) {
    for (const Kind kind : kinds)
        ETNA_CHECK(evict_entries(store, kind, inserted));
    if (store.bytes_max() == 0)
        return {};
    ETNA_CHECK(check_fits(store, inserted, store.bytes_max(), "of the store"));
    return evict_bytes(store, inserted);
}

} // namespace etna::server::storage
