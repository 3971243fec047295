#pragma once

#include "cli/options/option_values.hpp"
#include "core/grammar/grammar_cache.hpp"

#include <optional>

namespace etna::cli {

/// Returns the grammar of the answer given by `--json-schema`, `--grammar`, `--regex` or `--choice`; empty if
/// none is given. Reads the files they name. Errors: invalid_argument (more than one of them), those of
/// read_text_file().
Result<std::optional<grammar::Description>> read_structure(const OptionValues& values);

} // namespace etna::cli
