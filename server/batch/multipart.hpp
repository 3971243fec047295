#pragma once

#include "server/base/api_error.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::batch {

/// A field of a form.
struct FormPart {
    std::string name;
    std::optional<std::string> file_name = {}; ///< only for a file
    std::string_view content = {};             ///< a view of the body
};

constexpr std::size_t form_parts_max = 32;
constexpr std::size_t form_head_bytes_max = 8 * 1024; ///< maximum bytes of a part's headers

/// Parses a complete body of multipart/form-data (RFC 7578, RFC 2046 section 5.1). Borrows the body. Extended
/// names (`filename*`, RFC 8187) are preferred. Strict: a part without a name, a line end other than CRLF, or
/// a body without its end is refused. Errors: 400, 415 (not a form).
ApiResult<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body);

} // namespace etna::server::batch
