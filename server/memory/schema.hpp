#pragma once

#include "server/memory/database.hpp"

// The tables of the store.
namespace etna::server::memory {

enum class Origin : uint8_t {
    nobody, ///< empty: tables can be made
    etna,   ///< by this version
};

/// Whose database it is. Changes nothing. Errors: corrupt (another program's), unsupported (of a newer
/// version of etna); those of Database.
Result<Origin> origin_of(Database& database);

/// Makes the tables. Precondition: Origin::nobody.
Status make_tables(Database& database);

/// Reads the whole database. Error: corrupt, where its pages or its tables are not as they were made.
/// Precondition: Origin::etna.
Status check_content(Database& database);

} // namespace etna::server::memory
