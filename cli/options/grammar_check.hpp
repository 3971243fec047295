#pragma once

#include "core/base/result.hpp"
#include "core/grammar/description.hpp"

#include <string_view>

namespace etna::cli {

/// Checks the grammar of an answer without a model, so that a mistake is found before one is loaded. Blocks
/// for some milliseconds, a second at most. Errors: those of grammar::GrammarCache::make().
Status check_grammar(const grammar::Description& description);

/// Returns whether `text` is a complete text of a valid grammar. Blocks as check_grammar().
bool is_complete_text(grammar::Description description, std::string_view text);

} // namespace etna::cli
