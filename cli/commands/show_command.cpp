#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/json.hpp"
#include "core/chat/template_report.hpp"
#include "core/generate/description.hpp"
#include "core/runtime/memory_forecast.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"
#include "server/base/gguf_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna show`.
struct ShowOptions {
    std::string model;
    bool with_template = false;
    bool with_metadata = false;
    bool with_tensors = false;
    bool as_json = false;
};

constexpr std::array show_positionals = {model_positional};

constexpr std::array show_rows = {
    Option{.name = "template", .description = "print the chat template in the model's file"},
    Option{.name = "metadata", .description = "print each key and value in the model's file"},
    Option{.name = "tensors", .description = "print each tensor's name, format, shape and size"},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr auto show_table = in_category(Category::models, show_rows);

constexpr std::array show_examples = {
    Example{"etna show qwen3:0.6b", "what a model is"},
    Example{"etna show ./model.gguf --template", "its chat template"},
    Example{"etna show demo --metadata --json", "all metadata as JSON"},
};

constexpr std::string_view template_key = "tokenizer.chat_template";

Json as_json(const gguf::Value& value) {
    constexpr std::size_t elements_max = 16;
    return server::value_json(
        value, elements_max, [](std::size_t elements) { return Json(fmt::format("{} elements", elements)); });
}

std::string_view format_of(const gguf::Tensor& tensor) {
    return gguf::describe(tensor.type)->name;
}

std::vector<uint64_t> shape_of(const gguf::Tensor& tensor) {
    return {tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions};
}

struct FormatUse {
    uint64_t tensors = 0;
    uint64_t bytes = 0;
};

/// The memory of the model with one context on one device.
struct ContextMemory {
    std::string device;
    uint32_t context_tokens = 0;
    std::optional<uint64_t> bytes; ///< empty: more than any memory of the device could hold
    uint64_t free_bytes = 0;       ///< of the device
    bool fits = false;
};

/// What `etna show` prints.
struct ModelDescription {
    std::string name;
    std::string path;                        ///< of the first file; empty for an embedded model
    std::optional<store::Manifest> manifest; ///< of a stored model
    std::string architecture;
    uint64_t parameters = 0;
    uint64_t bytes = 0; ///< of the tensors
    std::map<std::string_view, FormatUse> formats = {};
    uint64_t context_tokens = 0; ///< 0: unknown
    uint64_t vocabulary_tokens = 0;
    std::string licence = {};
    std::string chat_template = {}; ///< empty: none
    std::vector<chat::ConversationReport> adapted =
        {}; ///< conversations that the template does not render whole
    Result<std::vector<ContextMemory>> memory = std::vector<ContextMemory>{};
};

ModelDescription description_of(const store::ModelSource& source, const gguf::File& file) {
    const auto text = [&](std::string_view key) { return std::string(file.text(key).value_or("")); };
    const generate::ModelDescription described = generate::description_of(file);
    ModelDescription model = {.name = source.name,
                              .path = source.path.string(),
                              .manifest = {},
                              .architecture = described.architecture,
                              .parameters = described.parameters};
    for (const gguf::Tensor& tensor : file.tensors()) {
        FormatUse& use = model.formats[format_of(tensor)];
        ++use.tensors;
        use.bytes += tensor.bytes;
    }
    model.bytes = file.tensor_bytes();
    model.context_tokens = generate::trained_context(file);
    if (const auto* tokens = file.find("tokenizer.ggml.tokens"); tokens != nullptr) {
        if (const auto* array = std::get_if<gguf::Array>(tokens)) {
            model.vocabulary_tokens =
                std::visit([](const auto& items) -> uint64_t { return items.size(); }, array->items);
        }
    }
    model.licence = text("general.license");
    model.chat_template = text(template_key);
    if (auto parsed = chat::ChatTemplate::create(model.chat_template, {});
        parsed && !model.chat_template.empty())
        model.adapted = chat::report_template(*parsed);
    return model;
}

/// Returns the contexts whose memory is shown, ascending.
std::vector<uint32_t> memory_contexts(uint64_t trained_tokens) {
    constexpr uint32_t short_tokens = 4096;
    constexpr uint32_t long_tokens = 32768;
    if (trained_tokens == 0)
        return {short_tokens};
    constexpr uint64_t tokens_max = std::numeric_limits<uint32_t>::max();
    const auto own = static_cast<uint32_t>(std::min(trained_tokens, tokens_max));
    std::vector<uint32_t> contexts;
    for (const uint32_t tokens : {short_tokens, long_tokens}) {
        if (tokens < own)
            contexts.push_back(tokens);
    }
    contexts.push_back(own);
    return contexts;
}

/// Errors: those of runtime::forecast_memory(), without out_of_memory.
Result<ContextMemory> context_memory(const gguf::File& file, const runtime::DeviceReport& device,
                                     uint32_t context_tokens) {
    ContextMemory memory = {.device = device.profile.name,
                            .context_tokens = context_tokens,
                            .bytes = std::nullopt,
                            .free_bytes = device.free_bytes};
    runtime::ExecutorOptions options;
    options.context_tokens = context_tokens;
    options.adapts_kv_type = true;
    const auto forecast = runtime::forecast_memory(file, device, options);
    if (!forecast) {
        if (forecast.error().kind == ErrorKind::out_of_memory)
            return memory;
        return forecast.error();
    }
    memory.bytes = forecast->memory.reserved_bytes(engine::MemoryPlace::device) +
                   forecast->memory.reserved_bytes(engine::MemoryPlace::host);
    memory.fits = !forecast->shortage;
    return memory;
}

/// Returns the model's memory on each usable device, by device and context. Blocking. Errors: those of the
/// lister and context_memory(); no_device.
Result<std::vector<ContextMemory>> memory_of(const gguf::File& file, uint64_t trained_tokens,
                                             const Environment& environment) {
    ETNA_TRY(const auto devices, environment.device_lister("", cache_folder(environment.variables)));
    std::vector<ContextMemory> memory;
    for (const runtime::DeviceReport& device : devices) {
        if (!device.missing.empty())
            continue;
        for (const uint32_t context_tokens : memory_contexts(trained_tokens)) {
            ETNA_TRY(ContextMemory one, context_memory(file, device, context_tokens));
            memory.push_back(std::move(one));
        }
    }
    if (memory.empty()) {
        return Error{ErrorKind::no_device, "no device can run models",
                     "`etna devices` tells what is missing"};
    }
    return memory;
}

std::string memory_text(const ContextMemory& memory) {
    const std::string size = memory.bytes ? size_text(*memory.bytes) : "more than the device can hold";
    const std::string fit =
        memory.fits ? "fits" : fmt::format("does not fit: {} free", size_text(memory.free_bytes));
    return fmt::format("{} tokens: {} on {}, {}", memory.context_tokens, size, memory.device, fit);
}

std::string count_text(uint64_t count) {
    constexpr double million = 1e6;
    constexpr double billion = 1e9;
    const auto number = static_cast<double>(count);
    if (number >= billion)
        return fmt::format("{:.2f} billion", number / billion);
    return number >= million ? fmt::format("{:.1f} million", number / million) : fmt::format("{}", count);
}

std::string option_text(const store::PresetOption& option) {
    std::string text;
    for (const std::string& value : option.values)
        text += fmt::format("{}--{} {}", text.empty() ? "" : " ", option.name, shell_quoted(value));
    return text;
}

std::string adapted_text(const chat::ConversationReport& report) {
    std::vector<std::string> clauses = report.changes;
    for (const std::string& name : report.dropped)
        clauses.push_back(fmt::format("the chat template ignores {}", name));
    if (!report.refusal.empty())
        clauses.push_back(fmt::format("refused: {}", report.refusal));
    return fmt::format("{}: {}", report.conversation, fmt::join(clauses, "; "));
}

std::string description_text(const ModelDescription& model) {
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](std::string_view label, const std::string& value) {
        if (!value.empty())
            rows.push_back({std::string(label), printable(value)});
    };
    add("model", model.name);
    add("architecture", model.architecture);
    add("parameters", count_text(model.parameters));
    for (const auto& [format, use] : model.formats) {
        add(format == model.formats.begin()->first ? "formats" : "",
            fmt::format("{}: {} tensors, {}", format, use.tensors, size_text(use.bytes)));
    }
    add("context", model.context_tokens == 0 ? "" : fmt::format("{} tokens", model.context_tokens));
    add("vocabulary", fmt::format("{} tokens", model.vocabulary_tokens));
    if (!model.memory)
        add("memory", fmt::format("unknown: {}", model.memory.error().message));
    for (std::size_t i = 0; model.memory && i < model.memory->size(); ++i)
        add(i == 0 ? "memory" : "", memory_text((*model.memory)[i]));
    add("template", model.chat_template.empty() ? "none" : "in the file; --template prints it");
    for (const chat::ConversationReport& report : model.adapted)
        add(&report == &model.adapted.front() ? "adapts" : "", adapted_text(report));
    add("licence", model.licence);
    if (model.manifest) {
        add("source", model.manifest->source);
        add("created", model.manifest->created);
        for (const store::PresetOption& option : model.manifest->options)
            add(option == model.manifest->options.front() ? "options" : "", option_text(option));
    }
    add("file", model.path);
    return table_text(rows);
}

void add_memory_json(Json& json, const ModelDescription& model) {
    json["memory"] = Json::array();
    if (!model.memory) {
        json["memory_error"] = model.memory.error().message;
        return;
    }
    for (const ContextMemory& memory : *model.memory) {
        json["memory"].push_back({{"device", memory.device},
                                  {"context_tokens", memory.context_tokens},
                                  {"bytes", memory.bytes ? Json(*memory.bytes) : Json()},
                                  {"fits", memory.fits}});
    }
}

Json description_json(const ModelDescription& model) {
    Json formats = Json::object();
    for (const auto& [format, use] : model.formats)
        formats[std::string(format)] = {{"tensors", use.tensors}, {"bytes", use.bytes}};
    Json json = {{"name", model.name},
                 {"file", model.path},
                 {"architecture", model.architecture},
                 {"parameters", model.parameters},
                 {"tensor_bytes", model.bytes},
                 {"formats", std::move(formats)},
                 {"context_tokens", model.context_tokens},
                 {"vocabulary_tokens", model.vocabulary_tokens},
                 {"has_template", !model.chat_template.empty()},
                 {"licence", model.licence}};
    add_memory_json(json, model);
    json["adapted"] = Json::array();
    for (const chat::ConversationReport& report : model.adapted) {
        json["adapted"].push_back({{"conversation", report.conversation},
                                   {"changes", report.changes},
                                   {"dropped", report.dropped},
                                   {"refusal", report.refusal.empty() ? Json() : Json(report.refusal)}});
    }
    if (model.manifest) {
        json["source"] = model.manifest->source;
        json["created"] = model.manifest->created;
        Json options = Json::object();
        for (const store::PresetOption& option : model.manifest->options)
            options[option.name] = option.values;
        json["options"] = std::move(options);
    }
    return json;
}

std::string show_json(const ShowOptions& options, const ModelDescription& model, const gguf::File& file) {
    Json json = description_json(model);
    if (options.with_template)
        json["template"] = model.chat_template;
    if (options.with_metadata) {
        for (const gguf::KeyValue& pair : file.metadata())
            json["metadata"][std::string(pair.key)] = as_json(pair.value);
    }
    if (options.with_tensors) {
        json["tensors"] = Json::array();
        for (const gguf::Tensor& tensor : file.tensors()) {
            json["tensors"].push_back({{"name", tensor.name},
                                       {"format", format_of(tensor)},
                                       {"shape", shape_of(tensor)},
                                       {"bytes", tensor.bytes}});
        }
    }
    return dump_json_indented(json) + "\n";
}

/// Whether the output is the model's description, and not parts of its file.
bool shows_description(const ShowOptions& options) {
    return options.as_json || (!options.with_template && !options.with_metadata && !options.with_tensors);
}

std::string show_text(const ShowOptions& options, const ModelDescription& model, const gguf::File& file) {
    if (shows_description(options))
        return description_text(model);
    std::string text;
    if (options.with_template)
        text += terminal_safe(model.chat_template) + "\n";
    if (options.with_metadata) {
        for (const gguf::KeyValue& pair : file.metadata())
            text += fmt::format("{} = {}\n", printable(pair.key), printable(dump_json(as_json(pair.value))));
    }
    if (options.with_tensors) {
        std::vector<std::vector<std::string>> rows;
        for (const gguf::Tensor& tensor : file.tensors()) {
            rows.push_back({printable(tensor.name), std::string(format_of(tensor)),
                            fmt::format("{}", fmt::join(shape_of(tensor), " x ")),
                            fmt::format("{} bytes", tensor.bytes)});
        }
        text += table_text(rows, {3});
    }
    return text;
}

/// Errors: invalid_argument.
Result<ShowOptions> validate_show(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty()) {
        return invalid_argument("no model given",
                                "try `etna show demo`; `etna list` shows the stored models");
    }
    const OptionValues values(command, arguments);
    ShowOptions options = {.model = arguments.positionals[0]};
    ETNA_TRY(options.with_template, values.flag("template"));
    ETNA_TRY(options.with_metadata, values.flag("metadata"));
    ETNA_TRY(options.with_tensors, values.flag("tensors"));
    ETNA_TRY(options.as_json, values.flag("json"));
    return options;
}

/// Returns the output. Errors: those of store::resolve() and generate::open_file(); not_found (no template).
Result<std::string> show(const ShowOptions& options, const Environment& environment) {
    const std::filesystem::path folder = models_folder(environment.variables);
    ETNA_TRY(const auto source,
             store::resolve(options.model, folder, foreign_folders(environment.variables)));
    ETNA_TRY(const gguf::File file, generate::open_file(source));
    ModelDescription model = description_of(source, file);
    if (auto manifest = store::ModelStore(folder).find(options.model))
        model.manifest = std::move(*manifest);
    if (options.with_template && model.chat_template.empty() && !options.as_json) {
        return Error{ErrorKind::not_found, fmt::format("{} has no chat template", source.name),
                     "--chat-template of `etna chat` selects one"};
    }
    if (shows_description(options))
        model.memory = memory_of(file, model.context_tokens, environment);
    return options.as_json ? show_json(options, model, file) : show_text(options, model, file);
}

/// Runs `etna show`. Blocking.
ExitCode show_command(const ShowOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    const auto text = show(options, environment);
    if (!text) {
        diagnostics.error(text.error());
        return ExitCode::failed;
    }
    Output output(environment.output);
    if (output.write(*text) != OutputState::failed)
        return ExitCode::done;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

} // namespace

Command show_spec() {
    return {.name = "show",
            .summary = "describe a model",
            .description =
                "Reads the beginning of a model's file and prints its architecture, parameters, formats, "
                "context, vocabulary and licence; of a stored model also its source and options. The memory "
                "that it takes is shown for each device, with contexts of 4096 and 32768 tokens and the "
                "model's own; `etna plan` lists it in detail. Nothing is loaded.",
            .positionals = show_positionals,
            .options = show_table,
            .examples = show_examples,
            .run = run_validated<validate_show, show_command>};
}

} // namespace etna::cli
