#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

namespace etna::server {

/// `metadata`: at most 16 texts of 512 characters under names of 64. Mistakes are left in `fields`. The
/// object, empty where there is none. Source: OpenAI API 2.3.0, Metadata.
Json read_metadata(Fields& fields);

} // namespace etna::server
