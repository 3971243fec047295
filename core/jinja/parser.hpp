#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/limits.hpp"

#include <string_view>

namespace etna::jinja {

/// Parses a template. Errors: corrupt (syntax, with the position; unknown tag, filter or test), unsupported
/// (a limit of `limits`).
Result<Tree> parse(std::string_view source, const Limits& limits);

} // namespace etna::jinja
