#include "server/storage/shares.hpp"

#include <utility>

namespace etna::server::storage {
namespace {

constexpr const char* share_tables = R"(
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
-- A node is of whoever has a response there, or further down its history.
INSERT OR IGNORE INTO node_owners
WITH RECURSIVE owned (node, owner) AS (
    SELECT node, owner FROM responses CROSS JOIN entries ON entries.number = responses.number
    UNION
    SELECT parent, owner FROM owned CROSS JOIN nodes ON nodes.number = node WHERE parent IS NOT NULL
)
SELECT node, owner FROM owned;
)";

Result<std::vector<Holder>> all_of(Statement row) {
    std::vector<Holder> holders;
    for (;;) {
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return holders;
        holders.push_back({.owner = row.bytes(0), .amount = static_cast<uint64_t>(row.number(1))});
    }
}

} // namespace

Status count_shares(Database& database) {
    return database.execute(share_tables);
}

Result<std::vector<Holder>> holders_of(const Reading& reading, Kind kind) {
    ETNA_TRY(Statement row,
             reading.database().prepare("SELECT owner, count FROM shares "
                                        "WHERE kind = ? AND count > 0 ORDER BY count DESC, owner",
                                        {static_cast<int64_t>(kind)}));
    return all_of(std::move(row));
}

Result<std::vector<Holder>> holders_of_bytes(const Reading& reading) {
    ETNA_TRY(Statement row,
             reading.database().prepare("SELECT owner, sum(bytes) FROM shares GROUP BY owner "
                                        "HAVING sum(bytes) > 0 ORDER BY sum(bytes) DESC, owner"));
    return all_of(std::move(row));
}

} // namespace etna::server::storage
