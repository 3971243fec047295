#pragma once

#include "server/base/fields.hpp"
#include "server/base/json.hpp"

#include <string_view>

namespace etna::server::api {

/// Returns the medium that the type of a content part names: "image"; empty if it names none.
std::string_view medium_of(std::string_view type);

/// Refuses a content part at `path` whose `type` is not text, naming its medium if known.
void refuse_part(Fields& fields, std::string_view path, const Json& part);

} // namespace etna::server::api
