#include "cli/load_model.hpp"

#include "cli/environment.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/jinja/machine.hpp"
#include "core/store/embedded.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Progress and rate of a model load on a terminal, for loads of more than a second. Removed by the
/// destructor.
class LoadingBar {
public:
    /// Borrows `diagnostics`.
    explicit LoadingBar(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}
    LoadingBar(const LoadingBar&) = delete;
    LoadingBar& operator=(const LoadingBar&) = delete;
    ~LoadingBar() { diagnostics_->status({}); }

    void show(uint64_t done_bytes, uint64_t total_bytes);

private:
    using Clock = std::chrono::steady_clock;

    Diagnostics* diagnostics_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point reading_since_; ///< first call of show(), when `first_bytes_` were done
    uint64_t first_bytes_ = 0;
    Clock::time_point drawn_;
};

void LoadingBar::show(uint64_t done_bytes, uint64_t total_bytes) {
    constexpr auto show_after = std::chrono::seconds(1);
    constexpr auto between_drawings = std::chrono::milliseconds(100);
    constexpr double width = 30;
    const auto now = Clock::now();
    if (reading_since_ == Clock::time_point()) {
        reading_since_ = now;
        first_bytes_ = done_bytes;
    }
    if (now - start_ < show_after || now - drawn_ < between_drawings || total_bytes == 0)
        return;
    drawn_ = now;
    const double part = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    const auto filled = static_cast<std::size_t>(part * width);
    const auto mebibytes = [](uint64_t bytes) {
        return static_cast<double>(bytes) / static_cast<double>(mebibyte);
    };
    const double seconds = std::chrono::duration<double>(now - reading_since_).count();
    const std::string rate =
        seconds > 0 ? fmt::format(", {:.0f} MiB/s", mebibytes(done_bytes - first_bytes_) / seconds) : "";
    diagnostics_->status(fmt::format("loading [{}{}] {:3.0f} % of {:.0f} MiB{}", std::string(filled, '#'),
                                     std::string(static_cast<std::size_t>(width) - filled, '.'), part * 100,
                                     mebibytes(total_bytes), rate));
}

void report_model(const generate::Model& model, const ModelOptions& options, Diagnostics& diagnostics) {
    if (model.on_cpu() && options.executor.device.empty())
        diagnostics.note("no GPU found; running on the CPU (slow)");
    if (model.trained_context_tokens() != 0 && model.context_tokens() > model.trained_context_tokens()) {
        diagnostics.note(fmt::format("the context of {} tokens exceeds the {} that the model was trained for",
                                     model.context_tokens(), model.trained_context_tokens()));
    }
    for (const std::string& note : model.memory_notes())
        diagnostics.note(note);
}

} // namespace

Result<generate::Model> load_model(const ModelOptions& options, const Environment& environment,
                                   Diagnostics& diagnostics) {
    ETNA_TRY(const auto source, find_model(options.model, options.hub, environment, diagnostics));
    ETNA_TRY(const auto chat_template, read_chat_template(options.chat_template));
    LoadingBar bar(diagnostics);
    if (!options.draft.empty())
        ETNA_CHECK(find_model(options.draft, options.hub, environment, diagnostics));
    ETNA_TRY(const auto draft, find_draft(options, environment));
    generate::LoadOptions load = load_options(options, chat_template, draft, environment);
    load.executor.progress = [&bar](uint64_t done_bytes, uint64_t total_bytes) {
        bar.show(done_bytes, total_bytes);
    };
    ETNA_TRY(auto model, generate::Model::load(source, load, environment.executor_factory));
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
