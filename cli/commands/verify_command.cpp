#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/store/model_store.hpp"
#include "core/store/sha256.hpp"
#include "core/store/unfinished.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna verify`.
struct VerifyOptions {
    std::vector<std::string> names; ///< empty: all stored models
};

constexpr std::array verify_positionals = {
    Positional{.name = "NAME",
               .description = "a stored model, as `etna list` shows it; all of them if none is given",
               .presence = Presence::optional,
               .completion = Completion::models,
               .repeat = Repeat::collect},
};

constexpr std::array verify_options = {help_option, help_all_option};

constexpr std::array verify_examples = {
    Example{"etna verify", "check all stored models"},
    Example{"etna verify qwen3:0.6b", "check one"},
};

/// Compares a file's bytes with its sum; a file outside the store has none, and is there or not. Blocks.
Status check_file(const store::StoredFile& file, const store::ModelStore& models,
                  const CancelPoll& is_stopped, Diagnostics& diagnostics) {
    if (!file.embedded.empty())
        return {};
    const std::filesystem::path path = models.path_of(file);
    if (file.sha256.empty()) {
        std::error_code failure;
        if (std::filesystem::is_regular_file(path, failure))
            return {};
        return Error{ErrorKind::not_found, fmt::format("{} is not there", path.string()),
                     "put the file back, or create the model again"};
    }
    const auto sum = store::sha256_of_file(path, [&](uint64_t done_bytes) {
        const double part =
            file.bytes == 0 ? 1 : static_cast<double>(done_bytes) / static_cast<double>(file.bytes);
        diagnostics.status(fmt::format("checking {}: {:.0f} %", printable(file.file_name), part * 100));
        return !is_stopped();
    });
    diagnostics.status({});
    if (!sum)
        return sum.error();
    if (*sum == file.sha256)
        return {};
    return Error{ErrorKind::corrupt, fmt::format("{}: its sha256 is {}", path.string(), *sum),
                 "remove the model with `etna rm`, and pull it again"};
}

/// Returns the manifests of the names, or all of them. Errors: those of ModelStore::find(); corrupt.
Result<std::vector<store::Manifest>> manifests_of(const VerifyOptions& options,
                                                  const store::ModelStore& models, Diagnostics& diagnostics) {
    std::vector<store::Manifest> manifests;
    for (const std::string& name : options.names) {
        ETNA_TRY(auto manifest, models.find(name));
        manifests.push_back(std::move(manifest));
    }
    if (!options.names.empty())
        return manifests;
    store::StoredManifests stored = models.list();
    for (std::size_t i = 1; i < stored.damaged.size(); ++i)
        diagnostics.error(stored.damaged[i]);
    if (!stored.damaged.empty())
        return stored.damaged.front();
    return std::move(stored.manifests);
}

Result<VerifyOptions> validate_verify(const Command& /*command*/, const TypedArguments& arguments) {
    return VerifyOptions{arguments.positionals};
}

void report_unfinished(const Environment& environment, Diagnostics& diagnostics) {
    for (const auto& part : store::unfinished_downloads(models_folder(environment.variables))) {
        diagnostics.note(fmt::format(
            "{}: an unfinished download takes {}; `etna pull` of its model resumes it, "
            "or remove it with `rm {}*`",
            printable(part.path.string()), size_text(part.disk_bytes), shell_quoted(part.path.string())));
    }
}

/// Runs `etna verify`: a line for each model, and an error for each file that is wrong. Blocking.
ExitCode verify_command(const VerifyOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const store::ModelStore models(models_folder(environment.variables));
    const CancelPoll is_stopped = environment.watch_interrupts(SecondInterrupt::ends_program);
    const auto manifests = manifests_of(options, models, diagnostics);
    if (!manifests) {
        diagnostics.error(manifests.error());
        return ExitCode::failed;
    }
    if (options.names.empty())
        report_unfinished(environment, diagnostics);
    Output output(environment.output);
    ExitCode code = ExitCode::done;
    for (const store::Manifest& manifest : *manifests) {
        bool is_good = true;
        for (const store::StoredFile& file : manifest.files) {
            const Status checked = check_file(file, models, is_stopped, diagnostics);
            if (!checked && checked.error().kind == ErrorKind::cancelled)
                return ExitCode::interrupted;
            if (!checked)
                diagnostics.error(checked.error());
            is_good = is_good && checked;
        }
        output.write(fmt::format("{}: {}\n", printable(manifest.name), is_good ? "good" : "damaged"));
        code = is_good ? code : ExitCode::failed;
    }
    if (output.state() != OutputState::failed)
        return code;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

} // namespace

Command verify_spec() {
    return {.name = "verify",
            .summary = "check the files of stored models",
            .description =
                "Reads each file of the stored models and compares its sha256 with the one that it was "
                "stored with. A file that another program stored is only looked for. The exit code is "
                "1 if a file is missing or damaged. Without a name, unfinished downloads are reported too, "
                "unless "
                "a process fetches them now.",
            .positionals = verify_positionals,
            .options = verify_options,
            .examples = verify_examples,
            .run = run_validated<validate_verify, verify_command>};
}

} // namespace etna::cli
