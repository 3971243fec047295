#pragma once

#include "server/storage/database.hpp"

// The store's database schema.
namespace etna::server::storage {

enum class Origin : uint8_t {
    none, ///< empty: tables can be created
    etna, ///< created by this version
};

/// Determines the origin of a database. Changes nothing. Errors: corrupt (another program's), unsupported
/// (created by a newer version of etna); those of Database.
Result<Origin> origin_of(Database& database);

/// Creates the tables. Precondition: Origin::none.
Status create_tables(Database& database);

/// Verifies the complete database. Error: corrupt, if pages or table definitions are not intact.
/// Precondition: Origin::etna.
Status check_content(Database& database);

} // namespace etna::server::storage
