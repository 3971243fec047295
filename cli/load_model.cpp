#include "cli/load_model.hpp"

#include "cli/environment.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/load_display.hpp"
#include "cli/text_io.hpp"
#include "core/jinja/machine.hpp"
#include "core/store/embedded.hpp"
#include "core/store/resolve.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

void report_model(const generate::Model& model, const ModelOptions& options, Diagnostics& diagnostics) {
    if (model.runtime().on_cpu && options.executor.device.empty())
        diagnostics.note("no GPU found; running on the CPU (slow)");
    if (model.file().trained_context_tokens != 0 &&
        model.context_tokens() > model.file().trained_context_tokens) {
        diagnostics.note(fmt::format("the context of {} tokens exceeds the {} that the model was trained for",
                                     model.context_tokens(), model.file().trained_context_tokens));
    }
    for (const std::string& note : model.runtime().memory_notes(model.file().trained_context_tokens))
        diagnostics.note(note);
}

} // namespace

Result<generate::Model> load_model(const ModelOptions& options, const Environment& environment,
                                   Diagnostics& diagnostics) {
    ETNA_TRY(const auto source, find_model(options.model, options.hub, environment, diagnostics));
    ETNA_TRY(const auto chat_template, read_chat_template(options.chat_template));
    if (!options.draft.empty())
        ETNA_CHECK(find_model(options.draft, options.hub, environment, diagnostics));
    ETNA_TRY(const auto draft, find_draft(options, environment));
    generate::LoadOptions load = load_options(options, chat_template, draft, environment);
    ETNA_TRY(auto model, [&] {
        LoadDisplay display(diagnostics);
        load.executor.progress = [&display](const runtime::LoadProgress& progress) {
            display.show(progress);
        };
        return generate::Model::load(source, load, environment.executor_factory);
    }());
    if (environment.error_is_terminal && store::embedded_model(options.model) != nullptr)
        diagnostics.note(fmt::format("{} is {}", options.model, store::embedded_models_are));
    report_model(model, options, diagnostics);
    return model;
}

generate::LoadOptions load_options(const ModelOptions& options, generate::ChatTemplateChoice chat_template,
                                   const std::optional<store::ModelSource>& draft,
                                   const Environment& environment) {
    generate::LoadOptions load{.executor = options.executor,
                               .speculation = options.speculation,
                               .chat_template = std::move(chat_template),
                               .pooling = options.pooling,
                               .draft = draft ? &*draft : nullptr};
    load.executor.cache_folder = cache_folder(environment.variables);
    return load;
}

Result<std::optional<store::ModelSource>> find_draft(const ModelOptions& options,
                                                     const Environment& environment) {
    if (options.draft.empty())
        return std::optional<store::ModelSource>();
    ETNA_TRY(auto source, store::resolve(options.draft, models_folder(environment.variables),
                                         foreign_folders(environment.variables)));
    return std::optional(std::move(source));
}

Result<generate::ChatTemplateChoice> read_chat_template(const std::string& option) {
    std::error_code failure;
    const bool is_file = !option.empty() && std::filesystem::is_regular_file(option, failure);
    if (!is_file && option.find('/') == std::string::npos)
        return generate::ChatTemplateChoice{.name = option, .text = {}};
    ETNA_TRY(auto text, read_text_file(option, jinja::Limits{}.template_bytes));
    return generate::ChatTemplateChoice{.name = {}, .text = std::move(text)};
}

int64_t now_unix_s(const Variables& variables) {
    if (const auto epoch = variables.find("SOURCE_DATE_EPOCH"); epoch != variables.end()) {
        if (const auto seconds = parsed<int64_t>(epoch->second))
            return *seconds;
    }
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

} // namespace etna::cli
