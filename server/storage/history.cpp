#include "server/storage/history.hpp"

#include <algorithm>

namespace etna::server::storage {

Result<int64_t> add_turn(Database& database, std::string_view owner, std::string_view turn,
                         std::optional<int64_t> parent) {
    ETNA_TRY(const auto number,
             database.number("INSERT INTO nodes (parent, turn) VALUES (?, ?) RETURNING number",
                             {parent ? Value(*parent) : Value(), turn}));
    ETNA_CHECK(database.run("INSERT INTO node_owners (node, owner) VALUES (?, ?)", {*number, owner}));
    return *number;
}

Status release_turns(Database& database, const NodePins& pins, int64_t node) {
    std::optional<int64_t> next = node;
    while (next && !pins.has(*next)) { // ancestors of a pinned node are in use
        ETNA_TRY(next,
                 database.number("DELETE FROM nodes WHERE number = ?1 "
                                 "AND NOT EXISTS (SELECT 1 FROM responses WHERE node = ?1) "
                                 "AND NOT EXISTS (SELECT 1 FROM nodes AS child WHERE child.parent = ?1) "
                                 "RETURNING parent",
                                 {*next}));
    }
    return {};
}

Status release_orphans(Database& database, const NodePins& pins) {
    std::vector<int64_t> orphans;
    ETNA_TRY(
        Statement statement,
        database.prepare("SELECT number FROM nodes "
                         "WHERE NOT EXISTS (SELECT 1 FROM responses WHERE node = nodes.number) "
                         "AND NOT EXISTS (SELECT 1 FROM nodes AS child WHERE child.parent = nodes.number)"));
    for (;;) {
        ETNA_TRY(const bool has_row, statement.step());
        if (!has_row)
            break;
        orphans.push_back(statement.number(0));
    }
    for (const int64_t orphan : orphans)
        ETNA_CHECK(release_turns(database, pins, orphan));
    return {};
}

Result<std::vector<std::string>> turns_up_to(Database& database, int64_t node) {
    std::vector<std::string> turns;
    for (int64_t next = node;;) {
        ETNA_TRY(Statement row, database.prepare("SELECT turn, parent FROM nodes WHERE number = ?", {next}));
        ETNA_TRY(const bool is_there, row.step());
        if (!is_there)
            return database.damaged("a turn of a history is missing");
        turns.push_back(row.bytes(0));
        if (row.is_null(1))
            break;
        const int64_t parent = row.number(1);
        if (parent >= next)
            return database.damaged("a history contains a cycle");
        next = parent;
    }
    std::ranges::reverse(turns);
    return turns;
}

} // namespace etna::server::storage
