// GET /api/tags, /api/ps and /api/version; POST /api/show.

#include "core/base/file_reader.hpp"
#include "core/generate/description.hpp"
#include "core/generate/model.hpp"
#include "core/store/model_store.hpp"
#include "core/store/modelfile.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/base/gguf_json.hpp"
#include "server/base/json.hpp"
#include "server/base/seal.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/names.hpp"
#include "server/faces/ollama/timestamps.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::ollama {
namespace {

HttpReply json_reply(const Json& json) {
    return {.body = dump_json(json) + "\n"};
}

std::chrono::system_clock::time_point time_of(int64_t unix_s) {
    return std::chrono::system_clock::time_point(std::chrono::seconds(unix_s));
}

/// Returns a number of parameters as the API writes it: "751.63M".
std::string parameter_size(uint64_t parameters) {
    constexpr double thousand = 1e3;
    constexpr double million = 1e6;
    constexpr double billion = 1e9;
    const auto number = static_cast<double>(parameters);
    if (number >= billion)
        return fmt::format("{:.1f}B", number / billion);
    if (number >= million)
        return fmt::format("{:.2f}M", number / million);
    return number >= thousand ? fmt::format("{:.2f}K", number / thousand) : fmt::format("{}", parameters);
}

Json details_json(const ModelFacts& facts) {
    const std::string& family = facts.description.architecture;
    return {{"parent_model", ""},
            {"format", "gguf"},
            {"family", family},
            {"families", family.empty() ? Json::array() : Json::array({family})},
            {"parameter_size",
             facts.description.parameters == 0 ? "" : parameter_size(facts.description.parameters)},
            {"quantization_level", facts.description.format}};
}

/// Returns the bytes of all files whose size is known.
uint64_t bytes_of(const ModelListing& model) {
    return std::max(model.file_bytes, model.facts.description.tensor_bytes);
}

/// Returns an identifier of a version of the model's file. Clients compare it, but do not check it against
/// the file's bytes.
std::string digest_of(const ModelListing& model) {
    return sha256_hex(fmt::format("{}\n{}\n{}", model.source.path.string(), bytes_of(model),
                                  model.source.path.empty() ? 0 : model.created_unix_s));
}

/// Returns the members that all lists share. `name`: the model's name, or an alias.
Json entry_json(const ModelListing& model, const std::string& name) {
    return {{"name", with_tag(name)},
            {"model", with_tag(name)},
            {"modified_at", timestamp(time_of(model.created_unix_s))},
            {"size", bytes_of(model)},
            {"digest", digest_of(model)},
            {"details", details_json(model.facts)}};
}

Json running_json(const ModelListing& model, const std::string& name) {
    Json entry = entry_json(model, name);
    entry.erase("modified_at");
    entry["size"] = model.memory_bytes;
    entry["expires_at"] =
        timestamp(model.unloads_in ? std::chrono::system_clock::now() + *model.unloads_in : never());
    entry["size_vram"] = model.is_on_cpu ? 0 : model.memory_bytes;
    entry["context_length"] = model.facts.context_tokens;
    return entry;
}

/// A model under one of its names.
struct NamedListing {
    std::string name;
    ModelListing model;
};

/// Returns the names of all stored models if clients may change them: such clients expect a complete list.
/// Names with the same file are names of one model.
std::vector<NamedListing> stored_models(AnswerServices& services) {
    std::vector<NamedListing> stored;
    if (!services.options.store)
        return stored;
    for (const store::Manifest& manifest :
         store::ModelStore(services.options.store->folder).list().manifests) {
        if (auto model = services.models.find_or_add(manifest.name))
            stored.push_back({.name = manifest.name, .model = std::move(*model)});
    }
    return stored;
}

/// Returns all names that requests can use, sorted by model.
std::vector<NamedListing> all_names(AnswerServices& services) {
    services.models.inspect();
    std::vector<NamedListing> stored = stored_models(services);
    std::vector<NamedListing> all;
    for (const ModelListing& model : services.models.list_inspected()) {
        all.push_back({.name = model.name, .model = model});
        for (const std::string& alias : model.aliases)
            all.push_back({.name = alias, .model = model});
    }
    for (NamedListing& one : stored) {
        const bool is_listed = std::ranges::any_of(
            all, [&](const NamedListing& listed) { return with_tag(listed.name) == with_tag(one.name); });
        if (!is_listed && !one.model.problem)
            all.push_back(std::move(one));
    }
    return all;
}

Json capabilities_json(const ModelListing& model) {
    const generate::ModelAbilities& abilities = model.facts.abilities;
    Json capabilities = Json::array({abilities.embeds ? "embedding" : "completion"});
    const std::pair<bool, const char*> others[] = {
        {abilities.calls_tools, "tools"}, {abilities.thinks, "thinking"}, {abilities.infills, "insert"}};
    for (const auto& [has, name] : others) {
        if (has)
            capabilities.push_back(name);
    }
    return capabilities;
}

/// A parameter of a model: its name in the API, and its value as Ollama writes it.
struct Parameter {
    std::string name;
    std::string value;
};

/// Returns a value as Ollama writes it: numbers as they are, other texts in quotes.
std::string parameter_value(const std::string& value) {
    const Json parsed = parse_json(value);
    return parsed.is_number() || parsed.is_boolean() ? value : dump_json(value);
}

/// Returns the parameters that a stored model sets; its system message and template have members of their
/// own.
std::vector<Parameter> own_parameters(const ModelListing& model) {
    std::vector<Parameter> parameters;
    for (const store::PresetOption& option : model.source.options) {
        if (option.name == "system" || option.name == "chat-template")
            continue;
        for (const std::string& value : option.values)
            parameters.push_back({std::string(store::ollama_parameter(option.name)), parameter_value(value)});
    }
    return parameters;
}

/// Returns the own parameters and, for those that it does not set, the context and the recommendations of the
/// model's file.
std::vector<Parameter> all_parameters(const ModelListing& model, const gguf::File& file) {
    std::vector<Parameter> parameters = own_parameters(model);
    const auto add = [&](const char* name, const auto& value) {
        if (value && std::ranges::find(parameters, name, &Parameter::name) == parameters.end())
            parameters.push_back({name, fmt::format("{}", *value)});
    };
    const uint32_t context = model.facts.context_tokens;
    const generate::SamplingOverrides recommended = generate::recommended_sampling(file);
    add("num_ctx", context == 0 ? std::nullopt : std::optional(context));
    add("temperature", recommended.temperature);
    add("top_k", recommended.top_k);
    add("top_p", recommended.top_p);
    add("min_p", recommended.min_p);
    add("repeat_penalty", recommended.repetition_penalty);
    return parameters;
}

/// Returns parameters in the API's form, one per line.
std::string parameters_text(const std::vector<Parameter>& parameters) {
    std::vector<std::string> lines;
    for (const Parameter& parameter : parameters)
        lines.push_back(fmt::format("{:<30} {}", parameter.name, parameter.value));
    return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Returns the model's chat template: that of a stored model, else that of its file; empty if there is none.
std::string template_of(const ModelListing& model, const gguf::File& file) {
    constexpr uint64_t template_bytes_max = 1UL << 20U;
    for (const store::PresetOption& option : model.source.options) {
        const auto reader = option.name == "chat-template" && !option.values.empty()
                                ? FileReader::open(option.values.front())
                                : Result<FileReader>(Error{ErrorKind::not_found, "no template", {}});
        if (!reader || reader->bytes() > template_bytes_max)
            continue;
        std::string text(reader->bytes(), '\0');
        if (reader->read(0, std::as_writable_bytes(std::span(text))))
            return text;
    }
    return std::string(file.text("tokenizer.chat_template").value_or(""));
}

/// Returns the system message that a stored model sets; empty if there is none.
std::string system_of(const ModelListing& model) {
    for (const store::PresetOption& option : model.source.options) {
        if (option.name == "system" && !option.values.empty())
            return option.values.front();
    }
    return {};
}

/// Returns the Modelfile that would make the model. Source: Ollama, docs/modelfile.
std::string modelfile_text(const ModelListing& model, const std::string& chat_template,
                           const std::string& system) {
    std::string text = fmt::format("FROM {}\n", model.name);
    if (!chat_template.empty())
        text += fmt::format("TEMPLATE \"\"\"{}\"\"\"\n", chat_template);
    if (!system.empty())
        text += fmt::format("SYSTEM \"\"\"{}\"\"\"\n", system);
    for (const Parameter& parameter : own_parameters(model))
        text += fmt::format("PARAMETER {} {}\n", parameter.name, parameter.value);
    return text;
}

/// Returns all metadata; lists as long as a vocabulary only on request.
Json metadata_json(const gguf::File& file, bool is_verbose, uint64_t parameters) {
    constexpr std::size_t short_list = 16;
    Json metadata = Json::object();
    for (const gguf::KeyValue& pair : file.metadata()) {
        metadata[std::string(pair.key)] = value_json(pair.value, is_verbose ? SIZE_MAX : short_list,
                                                     [](std::size_t /*elements*/) { return Json::array(); });
    }
    metadata.erase("tokenizer.chat_template"); // returned in the member `template`
    metadata["general.parameter_count"] = parameters;
    return metadata;
}

Json tensors_json(const gguf::File& file) {
    Json tensors = Json::array();
    for (const gguf::Tensor& tensor : file.tensors()) {
        tensors.push_back({{"name", tensor.name},
                           {"type", gguf::describe(tensor.type)->name},
                           {"shape", std::vector<uint64_t>(tensor.shape.begin(),
                                                           tensor.shape.begin() + tensor.dimensions)}});
    }
    return tensors;
}

Json description_json(const ModelListing& model, const gguf::File& file, bool is_verbose) {
    Json json = Json::object();
    if (const auto licence = file.text("general.license"))
        json["license"] = *licence;
    const std::string chat_template = template_of(model, file);
    const std::string system = system_of(model);
    json["modelfile"] = modelfile_text(model, chat_template, system);
    json["parameters"] = parameters_text(all_parameters(model, file));
    json["template"] = chat_template;
    if (!system.empty())
        json["system"] = system;
    json["details"] = details_json(model.facts);
    json["model_info"] = metadata_json(file, is_verbose, model.facts.description.parameters);
    if (is_verbose)
        json["tensors"] = tensors_json(file);
    json["capabilities"] = capabilities_json(model);
    json["modified_at"] = timestamp(time_of(model.created_unix_s));
    return json;
}

} // namespace

ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    Json models = Json::array();
    for (const NamedListing& one : all_names(services))
        models.push_back(entry_json(one.model, one.name));
    return json_reply({{"models", std::move(models)}});
}

ApiResult<HttpReply> list_running(AnswerServices& services, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    Json models = Json::array();
    for (const ModelListing& model : services.models.list_inspected()) {
        if (model.is_loaded)
            models.push_back(running_json(model, model.name));
    }
    return json_reply({{"models", std::move(models)}});
}

ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const Json body, parse_body(request));
    Fields fields(body);
    const std::string name = read_model(fields);
    const bool is_verbose = fields.flag("verbose").value_or(false);
    ETNA_CHECK(fields.status());
    ETNA_TRY(ModelListing model, find_model(services, name));
    services.models.inspect();
    ETNA_TRY(model, find_model(services, name));
    const auto file = generate::open_file(model.source);
    if (!file) {
        return ApiError{.status = 500,
                        .message = fmt::format("the file of model '{}' cannot be read", model.name),
                        .type = "server_error",
                        .code = "corrupt"};
    }
    return json_reply(description_json(model, *file, is_verbose));
}

ApiResult<HttpReply> show_version(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    // Clients compare it with the Ollama version that they require; a suffix after `+` does not count.
    return json_reply({{"version", "0.33.0+etna." ETNA_VERSION}});
}

} // namespace etna::server::ollama
