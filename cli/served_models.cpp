#include "cli/served_models.hpp"

#include "cli/load_model.hpp"
#include "cli/options/preset.hpp"
#include "cli/terminal/load_display.hpp"
#include "core/base/log.hpp"
#include "core/generate/model.hpp"
#include "core/runtime/memory_forecast.hpp"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Returns the options for a stored model: the user's, else the model's own. Errors: those of read_preset().
Result<ModelOptions> options_for(const store::ModelSource& source, ModelOptions options) {
    ETNA_TRY(RunOptions preset, read_preset(source.name, source.options));
    if (options.chat_template.empty())
        options.chat_template = std::move(preset.model.chat_template);
    if (options.draft.empty())
        options.draft = std::move(preset.model.draft);
    if (options.executor.context_tokens == 0)
        options.executor.context_tokens = preset.model.executor.context_tokens;
    if (options.executor.adapts_kv_type) { // the user chose no format
        options.executor.key_type = preset.model.executor.key_type;
        options.executor.value_type = preset.model.executor.value_type;
        options.executor.adapts_kv_type = preset.model.executor.adapts_kv_type;
    }
    options.speculation = over(options.speculation, preset.model.speculation);
    return options;
}

/// Returns the request defaults of a stored model.
generate::RequestDefaults request_defaults(const GenerationOptions& preset) {
    return {.max_tokens = preset.max_tokens,
            .min_tokens = preset.min_tokens,
            .stop = preset.stop,
            .seed = preset.sampling.seed,
            .logit_bias = preset.sampling.logit_bias,
            .thinking = preset.thinking};
}

/// Returns the memory that the model would take on the device, without a draft model; empty if that cannot be
/// planned.
std::optional<uint64_t> planned_bytes(const store::ModelSource& source, const ModelOptions& options,
                                      const runtime::DeviceReport* device) {
    if (device == nullptr)
        return std::nullopt;
    const auto file = generate::open_file(source);
    if (!file)
        return std::nullopt;
    const auto forecast = runtime::forecast_memory(*file, *device, options.executor);
    return forecast ? std::optional(forecast->memory.reserved_bytes()) : std::nullopt;
}

} // namespace

bool is_remote(const store::ModelSource& source) {
    return source.path.empty() && source.bytes.empty();
}

Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& served,
                                           const Environment& environment,
                                           const std::function<void(std::string_view line)>& report,
                                           const std::function<void(double fraction)>& show_fraction) {
    ETNA_TRY(const ModelOptions options, options_for(source, served));
    ETNA_TRY(const auto chat_template, read_chat_template(options.chat_template));
    ETNA_TRY(const auto draft, find_draft(options, environment));
    generate::LoadOptions load = load_options(options, chat_template, draft, environment);
    ETNA_TRY(const RunOptions preset, read_preset(source.name, source.options));
    load.sampling = preset.generation.sampling.overrides;
    load.system = preset.generation.system;
    load.requests = request_defaults(preset.generation);
    LoadLog progress_log(source.name, report);
    load.executor.progress = [&](const runtime::LoadProgress& progress) {
        if (report)
            progress_log.show(progress);
        if (show_fraction && progress.phase == runtime::LoadProgress::Phase::reading_weights)
            show_fraction(fraction_of(progress));
    };
    ETNA_TRY(auto model, generate::Model::load(source, load, environment.executor_factory));
    for (const std::string& note : model.runtime().memory_notes(model.file().trained_context_tokens))
        log(LogLevel::info, fmt::format("{}: {}", model.file().name, note));
    return std::make_shared<const generate::Model>(std::move(model));
}

ModelOptions unconfined(ModelOptions options) {
    options.executor.host_expert_layers = options.executor.host_expert_layers.value_or(0);
    options.executor.context_tokens_min = runtime::short_context_tokens;
    return options;
}

Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& served,
                                          const runtime::DeviceReport* device) {
    if (is_remote(source))
        return server::ModelFacts{};
    ETNA_TRY(const ModelOptions options, options_for(source, served));
    ETNA_TRY(const auto choice, read_chat_template(options.chat_template));
    ETNA_TRY(const auto summary, generate::inspect(source, choice));
    const uint64_t requested = options.executor.context_tokens;
    const uint64_t context = requested > 0 ? requested : summary.trained_context_tokens;
    return server::ModelFacts{.context_tokens = static_cast<uint32_t>(context),
                              .has_chat_template = summary.can_chat,
                              .stand_in_template = summary.stand_in_template,
                              .description = summary.description,
                              .abilities = summary.abilities,
                              .planned_bytes = planned_bytes(source, options, device)};
}

} // namespace etna::cli
