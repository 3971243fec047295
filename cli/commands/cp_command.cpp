#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/store/model_store.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna cp`.
struct CpOptions {
    std::string from;
    std::string to;
};

constexpr std::array cp_positionals = {
    Positional{.name = "MODEL",
               .description = "a stored model, as `etna list` shows it",
               .completion = Completion::models},
    Positional{.name = "NAME", .description = "the new name: letters, digits, dots, dashes and one colon"},
};

constexpr std::array cp_options = {help_option, help_all_option};

constexpr std::array cp_examples = {
    Example{"etna cp hf.co/Qwen/Qwen3-4B-GGUF:Q8_0 mine", "a short name for a model"},
};

/// Errors: invalid_argument.
Result<CpOptions> validate_cp(const Command& /*command*/, const TypedArguments& arguments) {
    if (arguments.positionals.size() < 2)
        return invalid_argument("a model and its new name are needed", "try `etna cp MODEL NAME`");
    ETNA_CHECK(store::check_stored_name(arguments.positionals[1]));
    return CpOptions{.from = arguments.positionals[0], .to = arguments.positionals[1]};
}

/// Runs `etna cp`.
ExitCode cp_command(const CpOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const store::ModelStore models(models_folder(environment.variables));
    auto manifest = models.find(options.from);
    if (!manifest) {
        Error error = manifest.error();
        if (error.kind == ErrorKind::not_found)
            error.hint += fmt::format("; for any other model, use `etna create {} --from MODEL`", options.to);
        diagnostics.error(error);
        return ExitCode::failed;
    }
    manifest->name = options.to;
    manifest->created.clear();
    if (const Status put = models.put(*manifest, store::Existing::refuse); !put) {
        diagnostics.error(put.error());
        return ExitCode::failed;
    }
    return ExitCode::done;
}

} // namespace

Command cp_spec() {
    return {.name = "cp",
            .summary = "give a stored model another name",
            .description = "Gives a stored model a second name, with the same options. Both names share the "
                           "files, so the copy takes no space.",
            .positionals = cp_positionals,
            .options = cp_options,
            .examples = cp_examples,
            .run = run_validated<validate_cp, cp_command>};
}

} // namespace etna::cli
