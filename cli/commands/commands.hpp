#pragma once

#include "cli/options/option_table.hpp"

#include <utility>

// The commands of etna, each in its own file: its arguments, options, examples and the function that runs it.
namespace etna::cli {

/// Validates a command's arguments and runs it with its options: the form of Command::run.
template <auto validate, auto run_with>
Result<ExitCode> run_validated(const Command& command, const TypedArguments& arguments,
                               const Environment& environment) {
    ETNA_TRY(auto options, validate(command, arguments));
    return run_with(std::move(options), environment);
}

Command run_spec();
Command chat_spec();
Command embed_spec();
Command batch_spec();
Command serve_spec();
Command devices_spec();
Command bench_spec();
Command tune_spec();
Command plan_spec();
Command completion_spec();
Command tokenize_spec();
Command render_spec();
Command pull_spec();
Command list_spec();
Command show_spec();
Command rm_spec();
Command cp_spec();
Command create_spec();
Command verify_spec();
Command ps_spec();
Command stop_spec();
Command launch_spec();
Command generate_docs_spec(); ///< hidden: prints the man pages

} // namespace etna::cli
