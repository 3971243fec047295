#pragma once

#include "cli/option_values.hpp"
#include "core/grammar/grammars.hpp"

#include <optional>

namespace etna::cli {

/// What the answer is kept to, as `--json-schema`, `--grammar`, `--regex` and `--choice` say; empty where
/// none does. Reads the files they name. Errors: invalid_argument (more than one of them), those of
/// read_text_file().
Result<std::optional<grammar::Description>> read_structure(const OptionValues& values);

} // namespace etna::cli
