#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/preset.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/gguf/split.hpp"
#include "core/jinja/machine.hpp"
#include "core/store/embedded.hpp"
#include "core/store/model_store.hpp"
#include "core/store/modelfile.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna create`.
struct CreateOptions {
    std::string name;
    std::string from;                         ///< empty: that of the Modelfile
    std::filesystem::path modelfile;          ///< empty: none
    std::vector<store::PresetOption> options; ///< those on the command line
};

constexpr std::array create_positionals = {
    Positional{.name = "NAME", .description = "the new name: letters, digits, dots, dashes and one colon"},
};

constexpr std::array create_rows = {
    Option{.name = "from",
           .value = "MODEL",
           .kind = Kind::text,
           .description =
               "the model: a stored one, one of another program, a .gguf file, or demo; its files are "
               "used in place",
           .brief = "the model that the new name stands for"},
    Option{.name = "file",
           .short_name = 'f',
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "read a Modelfile of Ollama's: FROM, SYSTEM, PARAMETER; options of the command line take "
               "precedence",
           .brief = "read a Modelfile of Ollama's",
           .file = FileUse::input},
    help_option,
    help_all_option,
};

constexpr auto create_table = in_category(Category::models, create_rows);

constexpr std::array create_examples = {
    Example{"etna create terse --from qwen3:0.6b --system \"Be brief.\" --temp 0.3",
            "a model with a system message and a temperature"},
    Example{"etna create mine -f Modelfile", "from a Modelfile"},
    Example{"etna create fast --from qwen3:8b --draft qwen3:0.6b", "a model with its draft model"},
};

constexpr std::array create_compat = {
    CompatOption{.names = "--template", .ours = "chat-template"},
    CompatOption{.names = "--temperature", .ours = "temp"},
};

/// Replaces the option of that name, or adds it.
void set_option(std::vector<store::PresetOption>& options, store::PresetOption option) {
    const auto found = std::ranges::find(options, option.name, &store::PresetOption::name);
    if (found == options.end()) {
        options.push_back(std::move(option));
    } else {
        *found = std::move(option);
    }
}

/// Returns the files of a model, and the options that it sets already. Errors: those of store::resolve().
Result<store::Manifest> manifest_of(const std::string& model, const Environment& environment) {
    const std::filesystem::path folder = models_folder(environment.variables);
    ETNA_TRY(const auto source, store::resolve(model, folder, foreign_folders(environment.variables)));
    if (source.path.empty() && store::embedded_model(model) != nullptr)
        return store::Manifest{
            .name = {}, .source = model, .files = {{.embedded = model, .bytes = source.bytes.size()}}};
    if (auto manifest = store::ModelStore(folder).find(model)) {
        manifest->source = model;
        return std::move(*manifest);
    }
    ETNA_TRY(const gguf::File file,
             generate::open_file(source)); // a model that can be read, with all its parts
    store::Manifest manifest = {.name = {}, .source = model, .files = {}};
    const std::vector<std::filesystem::path> one = {source.path}; // its parts are in the same folder
    for (const std::filesystem::path& part : source.parts.empty() ? one : source.parts) {
        std::error_code failure;
        const auto path = std::filesystem::absolute(part, failure);
        manifest.files.push_back({.path = path,
                                  .bytes = std::filesystem::file_size(path, failure),
                                  .file_name = path.filename().string()});
    }
    return manifest;
}

/// Stores a chat template's text with the model, and replaces an earlier one.
Status add_template(const std::string& text, const store::ModelStore& models, store::Manifest& manifest) {
    ETNA_TRY(const std::string sha256, models.add_blob(std::as_bytes(std::span(text))));
    std::erase_if(manifest.files,
                  [](const store::StoredFile& file) { return file.role == store::FileRole::chat_template; });
    std::erase_if(manifest.options,
                  [](const store::PresetOption& option) { return option.name == "chat-template"; });
    manifest.files.push_back({.role = store::FileRole::chat_template,
                              .sha256 = sha256,
                              .bytes = text.size(),
                              .file_name = "template.jinja"});
    return {};
}

/// Applies one option of the command line or the Modelfile. The text of a template's file is stored.
Status apply(store::PresetOption option, const store::ModelStore& models, store::Manifest& manifest) {
    std::error_code failure;
    if (option.name == "chat-template") {
        if (std::filesystem::is_regular_file(option.values.front(), failure)) {
            ETNA_TRY(const std::string text,
                     read_text_file(option.values.front(), jinja::Limits{}.template_bytes));
            return add_template(text, models, manifest);
        }
        std::erase_if(manifest.files, [](const store::StoredFile& file) {
            return file.role == store::FileRole::chat_template;
        });
    }
    if (option.name == "draft" && std::filesystem::is_regular_file(option.values.front(), failure))
        option.values = {std::filesystem::absolute(option.values.front(), failure).string()};
    const std::string_view opposite = option.name == "think"      ? "no-think"
                                      : option.name == "no-think" ? "think"
                                                                  : "";
    std::erase_if(manifest.options, [&](const store::PresetOption& one) { return one.name == opposite; });
    set_option(manifest.options, std::move(option));
    return {};
}

Status create(const CreateOptions& options, const Environment& environment) {
    constexpr std::size_t modelfile_bytes_max = mebibyte;
    const store::ModelStore models(models_folder(environment.variables));
    store::Modelfile modelfile;
    if (!options.modelfile.empty()) {
        ETNA_TRY(const std::string text, read_text_file(options.modelfile, modelfile_bytes_max));
        ETNA_TRY(modelfile, store::parse_modelfile(text, options.modelfile.string()));
        const bool is_relative =
            modelfile.from.starts_with("./") || modelfile.from.starts_with("../") ||
            (gguf::has_gguf_extension(modelfile.from) && !modelfile.from.starts_with('/'));
        if (is_relative && modelfile.from.find("://") == std::string::npos)
            modelfile.from = (options.modelfile.parent_path() / modelfile.from).string();
    }
    ETNA_TRY(store::Manifest manifest,
             manifest_of(options.from.empty() ? modelfile.from : options.from, environment));
    manifest.name = options.name;
    manifest.created.clear();
    if (!modelfile.chat_template.empty())
        ETNA_CHECK(add_template(modelfile.chat_template, models, manifest));
    for (const store::PresetOption& option : options.options)
        set_option(modelfile.options, option);
    for (const store::PresetOption& option : modelfile.options)
        ETNA_CHECK(apply(option, models, manifest));
    if (const auto preset = read_preset(options.name, manifest.options); !preset)
        return preset.error();
    return models.put(manifest, store::Existing::refuse);
}

/// Errors: invalid_argument.
Result<CreateOptions> validate_create(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty())
        return invalid_argument("no name given", "try `etna create NAME --from MODEL`");
    const OptionValues values(command, arguments);
    CreateOptions options = {.name = arguments.positionals[0],
                             .from = values.text("from").value_or(""),
                             .modelfile = values.text("file").value_or(""),
                             .options = {}};
    ETNA_CHECK(store::check_stored_name(options.name));
    if (options.from.empty() && options.modelfile.empty())
        return invalid_argument("no model given", "name one with --from, or a Modelfile with -f");
    for (const Option& option : preset_options()) {
        store::PresetOption set = {.name = std::string(option.name), .values = {}};
        for (const TypedValue& value : values.texts(option.name)) {
            if (value.origin.starts_with("--")) // defaults of the environment and config.toml stay there
                set.values.push_back(value.text);
        }
        if (!set.values.empty())
            options.options.push_back(std::move(set));
    }
    return options;
}

/// Runs `etna create`. Blocking.
ExitCode create_command(const CreateOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    if (const Status created = create(options, environment); !created) {
        diagnostics.error(created.error());
        return ExitCode::failed;
    }
    diagnostics.note(fmt::format("created; run it with `etna run {} \"Hello\"`", options.name));
    return ExitCode::done;
}

} // namespace

Command create_spec() {
    static const std::vector<Option> options = joined({create_table, preset_options()});
    return {
        .name = "create",
        .summary = "name a model with its own system message and options",
        .description =
            "Creates a stored model: a name for the files of another model, and options that `run` and "
            "`chat` take as its defaults. What the user sets on the command line or in the environment "
            "takes precedence over them, and they over config.toml. `serve` takes the system message, the "
            "chat template, the draft model, the context and the options of sampling, each below what a "
            "request sets.\n\n"
            "No file of weights is copied. Variables and config.toml do not become part of the model.",
        .positionals = create_positionals,
        .options = options,
        .examples = create_examples,
        .compat = create_compat,
        .run = run_validated<validate_create, create_command>};
}

} // namespace etna::cli
