#pragma once

#include "server/json.hpp"

namespace etna::server::responses {

/// Whether arguments can be kept to the schema without being asked to: it is an object's, all objects in it
/// are closed and have all of their members, and it has plain keywords alone. Schemas that generators write
/// for strict functions are such ones.
bool is_closed_schema(const Json& schema);

} // namespace etna::server::responses
