#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

namespace etna::server {

/// Reads `metadata`: at most 16 strings of up to 512 characters, with keys of up to 64. Errors are recorded
/// in `fields`. Returns the object, empty if absent. Source: OpenAI API 2.3.0, Metadata.
Json read_metadata(Fields& fields);

} // namespace etna::server
