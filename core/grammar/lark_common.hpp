#pragma once

#include <optional>
#include <string_view>

// Private to core/grammar.
namespace etna::grammar {

/// A terminal of Lark's grammars/common.lark as a regular expression; empty if there is none of that name.
std::optional<std::string_view> lark_common_terminal(std::string_view name);

} // namespace etna::grammar
