#pragma once

#include "server/json.hpp"

namespace etna::server::responses {

/// Whether the schema can be enforced without `strict`: it describes an object, all objects in it are closed
/// with all members required, and it uses only plain keywords. Generators for strict functions produce such
/// schemas.
bool is_closed_schema(const Json& schema);

} // namespace etna::server::responses
