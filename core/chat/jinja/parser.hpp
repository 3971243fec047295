#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/ast.hpp"
#include "core/chat/jinja/limits.hpp"

#include <string_view>

namespace etna::chat::jinja {

/// Parses a template. Errors: corrupt (syntax, with the position; unknown tag, filter or test), unsupported
/// (a limit of `limits`).
Result<Tree> parse(std::string_view source, const Limits& limits);

} // namespace etna::chat::jinja
