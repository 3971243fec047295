#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/json.hpp"
#include "core/generate/description.hpp"
#include "core/store/embedded.hpp"
#include "core/store/hub.hpp"
#include "core/store/known_models.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr uint64_t megabyte = 1'000'000;

enum class Listed : uint8_t { stored, all, known };

/// The validated command line of `etna list`.
struct ListOptions {
    Listed listed = Listed::stored;
    bool as_json = false;
};

constexpr std::array list_rows = {
    Option{.name = "all",
           .description =
               "also list the models of the Hugging Face cache, of llama.cpp's cache and of Ollama, "
               "which are used in place"},
    Option{.name = "known",
           .description = "list the short names of models that `etna pull` fetches, with their sizes; the "
                          "second column has the names that need no size"},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr auto list_table = in_category(Category::models, list_rows);

constexpr std::array list_examples = {
    Example{"etna list", "the stored models"},
    Example{"etna list --all", "also those of other programs"},
    Example{"etna list --known", "names for `etna pull`"},
};

constexpr std::string_view built_in = "built-in"; ///< the owner of a model inside etna

/// A line of the list.
struct ListedModel {
    std::string name;
    std::string owner = "etna";
    uint64_t bytes = 0;
    std::string quantisation = {};
    uint64_t context_tokens = 0; ///< 0: unknown
    std::optional<int64_t> last_used_unix_s = {};
    std::string problem = {}; ///< why it cannot be run; empty: nothing
};

/// Reads the facts that are in the model's file.
void read_facts(ListedModel& model, const Result<store::ModelSource>& source, const std::string& file_name) {
    const auto file = source ? generate::open_file(*source) : Result<gguf::File>(source.error());
    if (!file) {
        model.problem = file.error().message;
        return;
    }
    model.context_tokens = generate::trained_context(*file);
    model.quantisation = store::quantisation_of(file_name);
    if (model.quantisation.empty())
        model.quantisation = generate::description_of(*file).format;
}

void add_built_in(std::vector<ListedModel>& models) {
    for (const store::EmbeddedModel& embedded : store::embedded_models()) {
        if (embedded.name != store::demo_name && embedded.name != store::demo_embed_name)
            continue; // the draft model is of use only with `demo`
        ListedModel model = {.name = std::string(embedded.name),
                             .owner = std::string(built_in),
                             .bytes = embedded.bytes.size()};
        read_facts(model, store::resolve(model.name, {}), model.name);
        models.push_back(std::move(model));
    }
}

void add_stored(const std::filesystem::path& folder, std::vector<ListedModel>& models,
                Diagnostics& diagnostics) {
    const store::ModelStore stored_models(folder);
    const store::StoredManifests stored = stored_models.list();
    for (const Error& damaged : stored.damaged)
        diagnostics.warning(damaged.message);
    for (const store::Manifest& manifest : stored.manifests) {
        ListedModel model = {.name = manifest.name, .bytes = manifest.bytes()};
        model.last_used_unix_s = stored_models.last_use_unix_s(manifest);
        read_facts(model, store::resolve(manifest.name, folder), manifest.files.front().file_name);
        models.push_back(std::move(model));
    }
    for (const store::ModelFile& file : store::model_files(folder)) {
        ListedModel model = {.name = file.name};
        const auto source = store::resolve(file.name, folder);
        if (!source || source->path != file.path)
            continue; // a manifest or an embedded model has the name
        std::error_code ignored;
        model.bytes = std::filesystem::file_size(file.path, ignored);
        read_facts(model, source, file.path.filename().string());
        models.push_back(std::move(model));
    }
}

void add_foreign(const store::ForeignFolders& folders, std::vector<ListedModel>& models) {
    for (const store::FoundModel& found : store::foreign_models(folders)) {
        ListedModel model = {
            .name = found.name, .owner = std::string(to_string(found.owner)), .bytes = found.bytes};
        read_facts(model, store::resolve(found.name, {}, folders), found.parts.front().filename().string());
        models.push_back(std::move(model));
    }
}

/// Returns "3 hours ago"; empty if unknown.
std::string ago_text(std::optional<int64_t> then_unix_s, int64_t now) {
    struct Unit {
        int64_t seconds;
        std::string_view name;
    };
    constexpr std::array units = {Unit{365 * 86'400, "year"}, Unit{30 * 86'400, "month"}, Unit{86'400, "day"},
                                  Unit{3600, "hour"}, Unit{60, "minute"}};
    if (!then_unix_s)
        return {};
    const int64_t elapsed = now - *then_unix_s;
    for (const Unit& unit : units) {
        if (const int64_t count = elapsed / unit.seconds; count > 0)
            return fmt::format("{} {}{} ago", count, unit.name, count == 1 ? "" : "s");
    }
    return "just now";
}

std::string use_text(const ListedModel& model, int64_t now) {
    if (!model.problem.empty())
        return "cannot be run";
    return model.owner == built_in ? std::string(built_in) : ago_text(model.last_used_unix_s, now);
}

std::string list_text(const std::vector<ListedModel>& models, Listed listed, int64_t now) {
    std::vector<std::vector<std::string>> rows = {{"NAME", "SIZE", "FORMAT", "CONTEXT", "LAST USED"}};
    if (listed == Listed::all)
        rows[0].emplace_back("OWNER");
    for (const ListedModel& model : models) {
        rows.push_back({printable(model.name), size_text(model.bytes), printable(model.quantisation),
                        model.context_tokens == 0 ? "" : fmt::format("{}", model.context_tokens),
                        use_text(model, now)});
        if (listed == Listed::all)
            rows.back().push_back(model.owner);
    }
    return table_text(rows, {1, 3});
}

std::string list_json(const std::vector<ListedModel>& models) {
    Json entries = Json::array();
    for (const ListedModel& model : models) {
        Json entry = {{"name", model.name},
                      {"owner", model.owner},
                      {"size_bytes", model.bytes},
                      {"format", model.quantisation},
                      {"context_tokens", model.context_tokens},
                      {"last_used", model.last_used_unix_s ? Json(*model.last_used_unix_s) : Json()}};
        if (!model.problem.empty())
            entry["problem"] = model.problem;
        entries.push_back(std::move(entry));
    }
    return dump_json_indented({{"models", std::move(entries)}}) + "\n";
}

std::string repository_of(const store::KnownModel& model) {
    return to_string(store::HubModel{std::string(model.user), std::string(model.repository),
                                     std::string(model.quantisation), ""});
}

/// Returns "8.2B", "596M", or "30.5B, 3.3B active".
std::string parameters_text(const store::KnownModel& model) {
    constexpr uint32_t billion_m = 1000;
    const auto count = [](uint32_t millions) {
        return millions < billion_m ? fmt::format("{}M", millions)
                                    : fmt::format("{:.1f}B", static_cast<double>(millions) / billion_m);
    };
    return count(model.parameters_m) +
           (model.active_m < model.parameters_m ? fmt::format(", {} active", count(model.active_m)) : "");
}

std::string known_text() {
    std::vector<std::vector<std::string>> rows = {
        {"NAME", "OR", "DOWNLOAD", "PARAMETERS", "CONTEXT", "USE", "MODEL"}};
    for (const store::KnownModel& model : store::known_models()) {
        rows.push_back({std::string(model.name), is_usual(model) ? std::string(model.family()) : "",
                        size_text(model.download_mb * megabyte), parameters_text(model),
                        model.context_tokens == 0 ? "" : fmt::format("{}", model.context_tokens),
                        std::string(to_string(model.use)), repository_of(model)});
    }
    return table_text(rows, {2, 4});
}

std::string known_json() {
    constexpr uint64_t million = 1'000'000;
    Json entries = Json::array();
    for (const store::KnownModel& model : store::known_models()) {
        entries.push_back({{"name", model.name},
                           {"model", repository_of(model)},
                           {"is_usual", is_usual(model)},
                           {"download_bytes", model.download_mb * megabyte},
                           {"parameters", model.parameters_m * million},
                           {"active_parameters", model.active_m * million},
                           {"context_tokens", model.context_tokens},
                           {"use", to_string(model.use)}});
    }
    return dump_json_indented({{"known", std::move(entries)}}) + "\n";
}

/// Errors: invalid_argument.
Result<ListOptions> validate_list(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    ListOptions options;
    ETNA_TRY(const bool all, values.flag("all"));
    ETNA_TRY(const bool known, values.flag("known"));
    if (all && known)
        return invalid_argument("--all and --known exclude each other", "remove one of them");
    if (all || known)
        options.listed = all ? Listed::all : Listed::known;
    ETNA_TRY(options.as_json, values.flag("json"));
    return options;
}

/// Runs `etna list`. Blocking: opens each model's file.
ExitCode list_command(const ListOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    Output output(environment.output);
    if (options.listed == Listed::known) {
        output.write(options.as_json ? known_json() : known_text());
    } else {
        const std::filesystem::path folder = models_folder(environment.variables);
        std::vector<ListedModel> models;
        add_stored(folder, models, diagnostics);
        const bool has_stored = !models.empty();
        add_built_in(models);
        if (options.listed == Listed::all)
            add_foreign(foreign_folders(environment.variables), models);
        for (const ListedModel& model : models) {
            if (!model.problem.empty())
                diagnostics.warning(model.problem);
        }
        if (!has_stored && options.listed == Listed::stored && !options.as_json)
            diagnostics.note(
                fmt::format("no model in {}; `etna pull qwen3:0.6b` fetches one", folder.string()));
        output.write(options.as_json ? list_json(models)
                                     : list_text(models, options.listed, now_unix_s(environment.variables)));
    }
    if (output.state() != OutputState::failed)
        return ExitCode::done;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

} // namespace

Command list_spec() {
    return {.name = "list",
            .summary = "list the stored models",
            .description =
                "Lists the models in $ETNA_MODELS, or $XDG_DATA_HOME/etna/models, by name: those that "
                "were pulled or created, the .gguf files that are there, and the models that are built in. "
                "The format is that of most weights; the context is the one that the model was trained "
                "for.",
            .positionals = {},
            .options = list_table,
            .examples = list_examples,
            .run = run_validated<validate_list, list_command>};
}

} // namespace etna::cli
