#include "server/storage/schema.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace etna::server::storage {
namespace {

constexpr int64_t application_id = 0x65746e61; // "etna"
constexpr int64_t version = 1;

// Texts and ids are blobs, so that arbitrary bytes compare and count exactly.
constexpr const char* tables = R"(
-- One row for each entry, whatever its kind (server/storage/entries.hpp). Numbers ascend in order of creation,
-- freshness in order of creation or last addition: clocks may be set back.
CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    owner BLOB NOT NULL,
    id BLOB NOT NULL,
    touched_us INTEGER NOT NULL,
    freshness INTEGER NOT NULL UNIQUE,
    bytes INTEGER NOT NULL CHECK (bytes BETWEEN 0 AND 1 << 50),
    UNIQUE (kind, owner, id)
) STRICT;
CREATE INDEX entries_by_freshness ON entries (kind, freshness);
CREATE INDEX entries_by_time ON entries (kind, touched_us);

-- Turns of responses. A chain of them is a history: a parent is older than its children.
CREATE TABLE nodes (
    number INTEGER PRIMARY KEY,
    parent INTEGER REFERENCES nodes CHECK (parent < number),
    turn BLOB NOT NULL
) STRICT;
CREATE INDEX nodes_by_parent ON nodes (parent);

CREATE TABLE responses (
    number INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    node INTEGER NOT NULL REFERENCES nodes,
    is_pending INTEGER NOT NULL,
    object BLOB NOT NULL,
    input BLOB NOT NULL,
    events BLOB NOT NULL
) STRICT;
-- The items of a response's turn, by id.
CREATE TABLE turn_items (
    id BLOB NOT NULL,
    response INTEGER NOT NULL REFERENCES responses ON DELETE CASCADE,
    PRIMARY KEY (id, response)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_items_by_response ON turn_items (response);
CREATE INDEX responses_by_node ON responses (node);
CREATE INDEX pending_responses ON responses (number) WHERE is_pending;

CREATE TABLE conversations (
    number INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    created_us INTEGER NOT NULL,
    metadata BLOB NOT NULL
) STRICT;
CREATE TABLE items (
    number INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    id BLOB NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (conversation, id)
) STRICT;
CREATE INDEX items_in_order ON items (conversation);
CREATE INDEX items_by_id ON items (id);

CREATE TABLE completions (
    number INTEGER PRIMARY KEY REFERENCES entries ON DELETE CASCADE,
    object BLOB NOT NULL,
    messages BLOB NOT NULL
) STRICT;
-- The keys of the lists of completions (server/storage/completions.cpp).
CREATE TABLE labels (
    owner BLOB NOT NULL,
    kind INTEGER NOT NULL,
    name BLOB NOT NULL,
    value BLOB NOT NULL,
    completion INTEGER NOT NULL REFERENCES completions ON DELETE CASCADE,
    PRIMARY KEY (owner, kind, name, value, completion)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_completion ON labels (completion);

-- Sums over entries of each kind, and over nodes as kind 3.
CREATE TABLE totals (
    kind INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0);
CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    UPDATE totals SET count = count + 1, bytes = bytes + new.bytes WHERE kind = new.kind;
END;
CREATE TRIGGER entry_resized AFTER UPDATE OF bytes ON entries BEGIN
    UPDATE totals SET bytes = bytes + new.bytes - old.bytes WHERE kind = new.kind;
END;
CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
    UPDATE totals SET count = count - 1, bytes = bytes - old.bytes WHERE kind = old.kind;
END;
CREATE TRIGGER node_added AFTER INSERT ON nodes BEGIN
    UPDATE totals SET count = count + 1, bytes = bytes + length(new.turn) WHERE kind = 3;
END;
CREATE TRIGGER node_removed AFTER DELETE ON nodes BEGIN
    UPDATE totals SET count = count - 1, bytes = bytes - length(old.turn) WHERE kind = 3;
END;
)";

/// The SQL definition of each table, index and trigger.
Result<std::set<std::string>> definitions(Database& database) {
    ETNA_TRY(Statement statement, database.prepare("SELECT name || ': ' || sql FROM sqlite_schema"));
    std::set<std::string> found;
    for (;;) {
        ETNA_TRY(const bool has_row, statement.step());
        if (!has_row)
            return found;
        if (!statement.is_null(0)) // NULL for automatic indexes
            found.insert(statement.bytes(0));
    }
}

Status check_tables(Database& database) {
    ETNA_TRY(const auto reference, Database::open({}, Access::write));
    ETNA_CHECK(reference->execute(tables));
    ETNA_TRY(const auto expected, definitions(*reference));
    ETNA_TRY(const auto found, definitions(database));
    if (!std::ranges::includes(found, expected)) // additional indexes are harmless
        return database.damaged("its tables are not those of etna");
    return {};
}

} // namespace

Result<Origin> origin_of(Database& database) {
    ETNA_TRY(const auto id, database.number("PRAGMA application_id"));
    ETNA_TRY(const auto table_count, database.number("SELECT count(*) FROM sqlite_schema"));
    if (id == 0 && table_count == 0)
        return Origin::none;
    if (id != application_id)
        return database.damaged("it is another program's database");
    ETNA_TRY(const auto found, database.number("PRAGMA user_version"));
    if (found > version) {
        return unsupported(
            fmt::format("{}: created by a newer version of etna (format {}; this one supports {})",
                        database.name(), *found, version),
            "use that version, or choose another file");
    }
    return Origin::etna;
}

Status create_tables(Database& database) {
    ETNA_TRY(Transaction transaction, Transaction::begin(database));
    ETNA_CHECK(database.execute(tables));
    ETNA_CHECK(database.execute(fmt::format("PRAGMA application_id = {}", application_id).c_str()));
    ETNA_CHECK(database.execute(fmt::format("PRAGMA user_version = {}", version).c_str()));
    return transaction.commit();
}

Status check_content(Database& database) {
    {
        ETNA_TRY(Statement statement, database.prepare("PRAGMA integrity_check(1)"));
        ETNA_TRY(const bool has_row, statement.step());
        const std::string verdict = has_row ? statement.bytes(0) : "the integrity check failed";
        if (verdict != "ok")
            return database.damaged(verdict.substr(verdict.rfind('\n') + 1)); // after a headline
    }
    return check_tables(database);
}

} // namespace etna::server::storage
