#include "cli/commands/launch_programs.hpp"

#include "core/base/json.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

using Folder = std::filesystem::path;

constexpr const char* key_variable = "ETNA_LAUNCH_KEY";

std::string key_of(const ServedModel& model) {
    return model.api_key.empty() ? "none" : model.api_key; // programs require one
}

std::string api_url(const ServedModel& model) {
    return model.server.url + "/v1";
}

std::string number(uint64_t value) {
    return fmt::format("{}", value);
}

/// Adds a member with the limit if the model's context is known.
void add_limit(Json& object, const char* name, const ServedModel& model, uint64_t tokens) {
    if (model.context_tokens > 0)
        object[name] = tokens;
}

/// Source: Claude Code, "Environment variables". Other providers' variables would take precedence. The
/// reminder of the tokens that are left is a new system message after each tool's result.
ProgramSettings claude_settings(const ServedModel& model, const Folder& /*folder*/) {
    ProgramSettings settings;
    settings.variables = {{"ANTHROPIC_BASE_URL", model.server.url},
                          {"ANTHROPIC_AUTH_TOKEN", key_of(model)},
                          {"ANTHROPIC_API_KEY", ""},
                          {"ANTHROPIC_MODEL", model.name},
                          {"ANTHROPIC_SMALL_FAST_MODEL", model.name},
                          {"CLAUDE_CODE_SUBAGENT_MODEL", model.name},
                          {"CLAUDE_CODE_TOTAL_TOKENS_REMINDER", "off"},
                          {"CLAUDE_CODE_USE_BEDROCK", ""},
                          {"CLAUDE_CODE_USE_VERTEX", ""}};
    for (const char* size : {"HAIKU", "SONNET", "OPUS"})
        settings.variables[fmt::format("ANTHROPIC_DEFAULT_{}_MODEL", size)] = model.name;
    if (model.context_tokens > 0) {
        settings.variables["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] = number(model.context_tokens);
        settings.variables["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = number(model.prompt_tokens());
        settings.variables["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = number(model.output_tokens());
    }
    return settings;
}

/// Source: Codex CLI, "Configuration": values of -c are TOML, whose basic strings and integers are like
/// JSON's.
ProgramSettings codex_settings(const ServedModel& model, const Folder& /*folder*/) {
    ProgramSettings settings;
    const auto add = [&](std::string_view name, const Json& value) {
        settings.arguments.insert(settings.arguments.end(),
                                  {"-c", fmt::format("{}={}", name, dump_json(value))});
    };
    add("model_provider", "etna");
    add("model_providers.etna.name", "etna");
    add("model_providers.etna.base_url", api_url(model));
    add("model_providers.etna.wire_api", "responses");
    if (model.context_tokens > 0) {
        add("model_context_window", model.context_tokens);
        add("model_auto_compact_token_limit", model.prompt_tokens());
    }
    if (!model.api_key.empty()) {
        add("model_providers.etna.env_key", key_variable);
        settings.variables[key_variable] = model.api_key;
    }
    settings.arguments.insert(settings.arguments.end(), {"-m", model.name});
    return settings;
}

/// Source: opencode, "Config", "Providers" and "Models".
ProgramSettings opencode_settings(const ServedModel& model, const Folder& /*folder*/) {
    Json entry = {{"name", model.name}};
    if (model.context_tokens > 0)
        entry["limit"] = {{"context", model.context_tokens}, {"output", model.output_tokens()}};
    Json provider = {{"npm", "@ai-sdk/openai-compatible"},
                     {"name", "etna"},
                     {"options", {{"baseURL", api_url(model)}, {"apiKey", key_of(model)}}},
                     {"models", {{model.name, std::move(entry)}}}};
    const Json config = {{"$schema", "https://opencode.ai/config.json"},
                         {"provider", {{"etna", std::move(provider)}}},
                         {"model", "etna/" + model.name}};
    return {.variables = {{"OPENCODE_CONFIG_CONTENT", dump_json(config)}}};
}

/// Source: aider, "OpenAI compatible APIs" and "Advanced model settings".
ProgramSettings aider_settings(const ServedModel& model, const Folder& folder) {
    const std::string name = "openai/" + model.name;
    ProgramSettings settings;
    settings.variables = {{"OPENAI_API_BASE", api_url(model)}, {"OPENAI_API_KEY", key_of(model)}};
    settings.arguments = {"--model", name, "--no-show-model-warnings"};
    if (model.context_tokens == 0)
        return settings;
    const Json metadata = {{name,
                            {{"max_input_tokens", model.prompt_tokens()},
                             {"max_output_tokens", model.output_tokens()},
                             {"max_tokens", model.output_tokens()},
                             {"input_cost_per_token", 0},
                             {"output_cost_per_token", 0},
                             {"litellm_provider", "openai"},
                             {"mode", "chat"}}}};
    settings.files = {{"models.json", dump_json_indented(metadata)}};
    settings.arguments.insert(settings.arguments.end(),
                              {"--model-metadata-file", (folder / "models.json").string()});
    return settings;
}

/// Source: Cline CLI, whose variable names the file of its providers; all else stays in its own folder.
ProgramSettings cline_settings(const ServedModel& model, const Folder& folder) {
    Json settings = {{"provider", "openai-compatible"},
                     {"apiKey", key_of(model)},
                     {"baseUrl", api_url(model)},
                     {"model", model.name}};
    add_limit(settings, "contextWindow", model, model.context_tokens);
    add_limit(settings, "maxTokens", model, model.output_tokens());
    Json provider = {{"settings", std::move(settings)},
                     {"tokenSource", "manual"},
                     {"updatedAt", "2026-01-01T00:00:00.000Z"}};
    const Json providers = {{"version", 1},
                            {"lastUsedProvider", "openai-compatible"},
                            {"providers", {{"openai-compatible", std::move(provider)}}}};
    return {.arguments = {"-P", "openai-compatible", "-m", model.name},
            .variables = {{"CLINE_PROVIDER_SETTINGS_PATH", (folder / "providers.json").string()}},
            .files = {{"providers.json", dump_json_indented(providers)}}};
}

/// Source: Copilot CLI, "copilot help providers".
ProgramSettings copilot_settings(const ServedModel& model, const Folder& /*folder*/) {
    ProgramSettings settings;
    settings.variables = {
        {"COPILOT_PROVIDER_BASE_URL", api_url(model)}, {"COPILOT_PROVIDER_TYPE", "openai"},
        {"COPILOT_PROVIDER_API_KEY", key_of(model)},   {"COPILOT_PROVIDER_BEARER_TOKEN", ""},
        {"COPILOT_PROVIDER_WIRE_API", "responses"},    {"COPILOT_MODEL", model.name}};
    if (model.context_tokens > 0) {
        settings.variables["COPILOT_PROVIDER_MAX_PROMPT_TOKENS"] = number(model.prompt_tokens());
        settings.variables["COPILOT_PROVIDER_MAX_OUTPUT_TOKENS"] = number(model.output_tokens());
    }
    return settings;
}

/// Source: Crush, "Config": the variable names the folder that takes the place of its global one.
ProgramSettings crush_settings(const ServedModel& model, const Folder& folder) {
    Json entry = {{"id", model.name}, {"name", model.name}};
    add_limit(entry, "context_window", model, model.context_tokens);
    add_limit(entry, "default_max_tokens", model, model.output_tokens());
    Json provider = {{"name", "etna"},
                     {"type", "openai-compat"},
                     {"base_url", api_url(model)},
                     {"api_key", fmt::format("${}", key_variable)},
                     {"models", Json::array({std::move(entry)})}};
    const Json chosen = {{"provider", "etna"}, {"model", model.name}};
    const Json config = {{"$schema", "https://charm.land/crush.json"},
                         {"providers", {{"etna", std::move(provider)}}},
                         {"models", {{"large", chosen}, {"small", chosen}}}};
    return {.variables = {{"CRUSH_GLOBAL_CONFIG", folder.string()}, {key_variable, key_of(model)}},
            .files = {{"crush.json", dump_json_indented(config)}}};
}

/// Source: goose, "Environment Variables".
ProgramSettings goose_settings(const ServedModel& model, const Folder& /*folder*/) {
    ProgramSettings settings;
    settings.variables = {{"GOOSE_PROVIDER", "openai"},
                          {"GOOSE_MODEL", model.name},
                          {"OPENAI_HOST", model.server.url},
                          {"OPENAI_BASE_PATH", "v1/chat/completions"},
                          {"OPENAI_API_KEY", key_of(model)}};
    if (model.context_tokens > 0) {
        const double share =
            static_cast<double>(model.prompt_tokens()) / static_cast<double>(model.context_tokens);
        settings.variables["GOOSE_CONTEXT_LIMIT"] = number(model.context_tokens);
        settings.variables["GOOSE_MAX_TOKENS"] = number(model.output_tokens());
        settings.variables["GOOSE_AUTO_COMPACT_THRESHOLD"] = fmt::format("{:.2f}", share);
    }
    return settings;
}

/// Source: pi, "Custom providers": an extension, because a file of models would be the user's.
ProgramSettings pi_settings(const ServedModel& model, const Folder& folder) {
    Json entry = {{"type", "chat"},
                  {"id", model.name},
                  {"name", model.name},
                  {"reasoning", false},
                  {"input", Json::array({"text"})},
                  {"cost", {{"input", 0}, {"output", 0}, {"cacheRead", 0}, {"cacheWrite", 0}}}};
    add_limit(entry, "contextWindow", model, model.context_tokens);
    add_limit(entry, "maxTokens", model, model.output_tokens());
    const Json provider = {{"name", "etna"},
                           {"baseUrl", api_url(model)},
                           {"apiKey", fmt::format("${}", key_variable)},
                           {"api", "openai-completions"},
                           {"models", Json::array({std::move(entry)})}};
    return {.arguments = {"--extension", (folder / "etna.js").string(), "--provider", "etna", "--model",
                          model.name},
            .variables = {{key_variable, key_of(model)}},
            .files = {{"etna.js", fmt::format("export default function (pi) {{\n"
                                              "  pi.registerProvider(\"etna\", {});\n}}\n",
                                              dump_json(provider))}}};
}

/// Source: Qwen Code, "Configuration": system settings take precedence over the user's.
ProgramSettings qwen_settings(const ServedModel& model, const Folder& folder) {
    Json provider = {
        {"id", model.name}, {"name", model.name}, {"baseUrl", api_url(model)}, {"envKey", "OPENAI_API_KEY"}};
    if (model.context_tokens > 0) {
        provider["generationConfig"] = {{"contextWindowSize", model.context_tokens},
                                        {"samplingParams", {{"max_tokens", model.output_tokens()}}}};
    }
    const Json system = {{"modelProviders", {{"openai", Json::array({std::move(provider)})}}},
                         {"security", {{"auth", {{"selectedType", "openai"}}}}},
                         {"model", {{"name", model.name}}}};
    return {.arguments = {"--auth-type", "openai", "--model", model.name},
            .variables = {{"OPENAI_API_KEY", key_of(model)},
                          {"OPENAI_BASE_URL", api_url(model)},
                          {"OPENAI_MODEL", model.name},
                          {"QWEN_CODE_SYSTEM_SETTINGS_PATH", (folder / "settings.json").string()}},
            .files = {{"settings.json", dump_json_indented(system)}}};
}

/// Source: Visual Studio Code, "AI language models", custom endpoints.
ProgramSettings vscode_settings(const ServedModel& model, const Folder& /*folder*/) {
    Json entry = {{"id", model.name},
                  {"name", model.name},
                  {"url", api_url(model)},
                  {"toolCalling", true},
                  {"vision", false}};
    add_limit(entry, "maxInputTokens", model, model.prompt_tokens());
    add_limit(entry, "maxOutputTokens", model, model.output_tokens());
    const Json group = {{"name", "etna"},
                        {"vendor", "customendpoint"},
                        {"apiType", "responses"},
                        {"models", Json::array({std::move(entry)})}};
    return {.files = {{"chatLanguageModels.json", dump_json_indented(Json::array({group}))}}};
}

/// Source: Zed, "Use API Access", OpenAI-compatible endpoints.
ProgramSettings zed_settings(const ServedModel& model, const Folder& /*folder*/) {
    Json entry = {
        {"name", model.name},
        {"display_name", model.name},
        {"capabilities",
         {{"tools", true}, {"images", false}, {"parallel_tool_calls", true}, {"prompt_cache_key", false}}}};
    add_limit(entry, "max_tokens", model, model.context_tokens);
    add_limit(entry, "max_output_tokens", model, model.output_tokens());
    Json provider = {{"api_url", api_url(model)}, {"available_models", Json::array({std::move(entry)})}};
    const Json settings = {{"language_models", {{"openai_compatible", {{"etna", std::move(provider)}}}}},
                           {"agent", {{"default_model", {{"provider", "etna"}, {"model", model.name}}}}}};
    return {.files = {{"settings.json", dump_json_indented(settings)}}};
}

constexpr std::string_view node_certificates = "NODE_EXTRA_CA_CERTS";
constexpr std::string_view all_certificates = "SSL_CERT_FILE";

constexpr std::array programs = {
    Program{"claude", "claude", "Claude Code", "install it with `npm install -g @anthropic-ai/claude-code`",
            claude_settings, node_certificates, 32'000},
    Program{"codex", "codex", "Codex", "install it with `npm install -g @openai/codex`", codex_settings,
            all_certificates, 0},
    Program{"opencode", "opencode", "opencode", "install it with `npm install -g opencode-ai`",
            opencode_settings, node_certificates, 0},
    Program{"aider", "aider", "aider", "install it with `pipx install aider-chat`", aider_settings,
            all_certificates, 0},
    Program{"cline", "cline", "Cline", "install it with `npm install -g cline`", cline_settings,
            node_certificates, 0},
    Program{"copilot", "copilot", "Copilot CLI", "install it with `npm install -g @github/copilot`",
            copilot_settings, node_certificates, 0},
    Program{"crush", "crush", "Crush", "install it with `npm install -g @charmland/crush`", crush_settings,
            all_certificates, 0},
    Program{"goose", "goose", "goose", "install it from its releases: https://github.com/aaif-goose/goose",
            goose_settings, all_certificates, 0},
    Program{"pi", "pi", "pi", "install it with `npm install -g @earendil-works/pi-coding-agent`", pi_settings,
            node_certificates, 0},
    Program{"qwen", "qwen", "Qwen Code", "install it with `npm install -g @qwen-code/qwen-code`",
            qwen_settings, node_certificates, 0},
    Program{"vscode", "", "VS Code",
            "add the entry to chatLanguageModels.json, which `Chat: Open Language Models (JSON)` opens",
            vscode_settings, "", 0},
    Program{"zed", "", "Zed",
            "merge it into settings.json, which `zed: open settings file` opens, and set ETNA_API_KEY to the "
            "server's key, or to any word",
            zed_settings, "", 0},
};

} // namespace

uint64_t ServedModel::output_tokens() const {
    constexpr uint64_t output_tokens_max = 32'000;
    return std::min(context_tokens / 4, output_tokens_max);
}

std::span<const Program> launch_programs() {
    return programs;
}

} // namespace etna::cli
