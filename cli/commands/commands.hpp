#pragma once

#include "cli/options/option_table.hpp"

// The commands of etna, each in its own file: its arguments, options, examples and the function that runs it.
namespace etna::cli {

Command run_spec();
Command chat_spec();
Command serve_spec();
Command devices_spec();
Command completion_spec();
Command tokenize_spec();
Command render_spec();
Command generate_docs_spec(); ///< hidden: prints the man pages

} // namespace etna::cli
