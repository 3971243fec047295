#pragma once

#include "core/chat/output/syntax.hpp"

#include <string>
#include <string_view>

namespace etna::chat::output {

/// The text with which a model of this syntax begins a call, as far as it is certain: up to the arguments
/// where `name` says whose call it is to be, else up to the name. Empty for families whose calls are messages
/// of their own, or begin with nothing.
std::string call_opening(const Syntax& syntax, std::string_view name);

} // namespace etna::chat::output
