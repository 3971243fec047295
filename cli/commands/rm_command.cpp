#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna rm`.
struct RmOptions {
    std::vector<std::string> names;
    Consent consent = Consent::ask;
};

constexpr std::array rm_positionals = {
    Positional{.name = "NAME",
               .description = "a stored model, as `etna list` shows it",
               .completion = Completion::models,
               .repeat = Repeat::collect},
};

constexpr std::array rm_rows = {
    Option{.name = "yes",
           .short_name = 'y',
           .description = "remove without asking; only the command line sets it",
           .settable = Settable::command_line},
    help_option,
    help_all_option,
};

constexpr auto rm_table = in_category(Category::models, rm_rows);

constexpr std::array rm_examples = {
    Example{"etna rm qwen3:0.6b", "ask, and remove a model"},
    Example{"etna rm --yes mine hf.co/Qwen/Qwen3-4B-GGUF:Q8_0", "remove two models without asking"},
};

/// Returns why the store has no such model to remove: the model may be a file, or another program's.
Error not_stored(const std::string& name, const Error& error, const Environment& environment) {
    const auto source =
        store::resolve(name, models_folder(environment.variables), foreign_folders(environment.variables));
    if (error.kind != ErrorKind::not_found || !source)
        return error;
    if (source->path.empty())
        return invalid_argument(fmt::format("{} is built into etna", backquoted(name)));
    return invalid_argument(
        fmt::format("{} is the file {}, which etna did not store", backquoted(name), source->path.string()),
        "remove it with the program that stored it, or with `rm`");
}

/// Asks before a model is removed. Errors: cancelled, invalid_argument (there is no terminal).
Status ask_to_remove(const std::string& name, uint64_t bytes, const Environment& environment) {
    if (!environment.is_interactive() || !environment.ask_at_terminal) {
        return invalid_argument(
            fmt::format("{} was not removed: there is no terminal to ask at", backquoted(name)), "add --yes");
    }
    const std::string question =
        fmt::format("remove {}, {}? [y]es, [N]o: ", printable(name), size_text(bytes));
    const TerminalAnswer answer =
        environment.ask_at_terminal(question, environment.watch_interrupts(SecondInterrupt::ends_program));
    if (answer.is_yes())
        return {};
    return Error{ErrorKind::cancelled, fmt::format("{} was not removed", backquoted(name)), {}};
}

Status remove_one(const std::string& name, const RmOptions& options, const Environment& environment,
                  Diagnostics& diagnostics) {
    const store::ModelStore models(models_folder(environment.variables));
    const auto manifest = models.find(name);
    if (!manifest && manifest.error().kind == ErrorKind::not_found)
        return not_stored(name, manifest.error(), environment);
    const std::string shown = manifest ? manifest->name : name; // a damaged one can be removed, too
    if (options.consent == Consent::ask)
        ETNA_CHECK(ask_to_remove(shown, manifest ? manifest->bytes() : 0, environment));
    ETNA_TRY(const auto removal, models.remove(name));
    diagnostics.line(fmt::format("removed {}; {} freed{}", shown, size_text(removal.freed_bytes),
                                 removal.shared_bytes == 0 ? ""
                                                           : fmt::format(", {} stay for other names",
                                                                         size_text(removal.shared_bytes))));
    return {};
}

/// Errors: invalid_argument.
Result<RmOptions> validate_rm(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty())
        return invalid_argument("no model given", "`etna list` shows the stored models");
    ETNA_TRY(const bool agrees, OptionValues(command, arguments).flag("yes"));
    return RmOptions{.names = arguments.positionals, .consent = agrees ? Consent::given : Consent::ask};
}

/// Runs `etna rm`. Blocking.
ExitCode rm_command(const RmOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    ExitCode code = ExitCode::done;
    for (const std::string& name : options.names) {
        if (const Status removed = remove_one(name, options, environment, diagnostics); !removed) {
            diagnostics.error(removed.error());
            code = ExitCode::failed;
        }
    }
    return code;
}

} // namespace

Command rm_spec() {
    return {.name = "rm",
            .summary = "remove stored models",
            .description =
                "Removes models by name, and their files that no other name uses. A terminal is asked "
                "first; without one, nothing is removed unless --yes is given.",
            .positionals = rm_positionals,
            .options = rm_table,
            .examples = rm_examples,
            .run = run_validated<validate_rm, rm_command>};
}

} // namespace etna::cli
