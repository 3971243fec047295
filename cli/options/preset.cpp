#include "cli/options/preset.hpp"

#include "cli/commands/commands.hpp"
#include "cli/options/sampling_options.hpp"
#include "cli/terminal/printable.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The stored options other than the sampling options.
constexpr std::array<std::string_view, 13> other_names = {
    "system",   "think",   "no-think", "chat-template", "max-tokens",     "min-tokens",          "stop",
    "ctx-size", "kv-type", "draft",    "prompt-lookup", "max-ngram-size", "num-assistant-tokens"};

Status check_option(std::string_view model, const store::PresetOption& option) {
    const bool is_known =
        std::ranges::find(preset_options(), option.name, &Option::name) != preset_options().end();
    return is_known ? Status()
                    : invalid_argument(fmt::format("{} sets --{}, which a stored model may not set",
                                                   backquoted(model), option.name),
                                       "create the model again, or use the etna that created it");
}

std::vector<TypedValue> typed_values(std::string_view model, const store::PresetOption& option) {
    std::vector<TypedValue> values;
    values.reserve(option.values.size());
    for (const std::string& value : option.values)
        values.push_back({value, fmt::format("--{} of the stored model {}", option.name, backquoted(model))});
    return values;
}

/// Whether the user's options replace this option of the model, or make it useless.
bool is_replaced(std::string_view name, const TypedArguments& arguments) {
    constexpr std::array<std::string_view, 4> of_conversations = {"system", "think", "no-think",
                                                                  "chat-template"};
    const auto has = [&](std::string_view option) { return arguments.options.contains(option); };
    if (has(name) || (name == "think" && has("no-think")) || (name == "no-think" && has("think")))
        return true;
    if (name == "min-tokens" && has("max-tokens")) // it may be more than the user's limit
        return true;
    return has("raw") && std::ranges::find(of_conversations, name) != of_conversations.end();
}

} // namespace

std::span<const Option> preset_options() {
    static const std::vector<Option> options = [] {
        std::vector<Option> chosen;
        for (const Option& option : run_spec().options) {
            const bool is_sampling =
                std::ranges::find(sampling_options(), option.name, &Option::name) != sampling_options().end();
            if (is_sampling || std::ranges::find(other_names, option.name) != other_names.end())
                chosen.push_back(option);
        }
        return chosen;
    }();
    return options;
}

Status add_preset(const Command& command, const Environment& environment, TypedArguments& arguments) {
    const bool takes_model = !command.positionals.empty() &&
                             command.positionals[0].completion == Completion::models &&
                             command.positionals[0].repeat == Repeat::last_counts;
    if (!takes_model || arguments.positionals.empty() || find_option(command, "chat-template") == nullptr)
        return {};
    const std::string& model = arguments.positionals[0];
    const auto source = store::resolve(model, models_folder(environment.variables));
    if (!source)
        return {}; // the command reports it
    TypedArguments typed = arguments;
    for (const store::PresetOption& option : source->options) {
        ETNA_CHECK(check_option(model, option));
        if (find_option(command, option.name) != nullptr && !is_replaced(option.name, arguments))
            typed.options[option.name] = typed_values(model, option);
    }
    arguments = std::move(typed);
    return {};
}

Result<RunOptions> read_preset(std::string_view name, std::span<const store::PresetOption> options) {
    TypedArguments typed = {.options = {}, .positionals = {std::string(name)}, .notes = {}};
    for (const store::PresetOption& option : options) {
        ETNA_CHECK(check_option(name, option));
        typed.options[option.name] = typed_values(name, option);
    }
    return validate_run(*find_command("run"), typed);
}

} // namespace etna::cli
