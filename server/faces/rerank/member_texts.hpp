#pragma once

#include "server/base/fields.hpp"
#include "server/faces/rerank/relevance.hpp"

#include <string_view>

namespace etna::server::rerank {

/// Reads a member that is one text.
MemberTexts read_text(Fields& fields, std::string_view name);

/// Reads a member that is a list of texts, each a string or {"text"}; not empty, at most documents_max.
MemberTexts read_text_list(Fields& fields, std::string_view name);

/// Reads a member in either form.
MemberTexts read_text_or_list(Fields& fields, std::string_view name);

} // namespace etna::server::rerank
