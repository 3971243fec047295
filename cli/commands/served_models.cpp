#include "cli/commands/served_models.hpp"

#include "cli/folders.hpp"
#include "cli/load_model.hpp"
#include "core/generate/model.hpp"
#include "core/store/embedded.hpp"

#include <memory>
#include <utility>

namespace etna::cli {

Result<server::Models::Handle> load_served(const store::ModelSource& source, const ModelOptions& options,
                                           const Environment& environment) {
    ETNA_TRY(const auto chat_template, read_chat_template(options.chat_template));
    ETNA_TRY(const auto draft, find_draft(options, environment));
    ETNA_TRY(auto model,
             generate::Model::load(source, load_options(options, chat_template, draft, environment),
                                   environment.executor_factory));
    return std::make_shared<const generate::Model>(std::move(model));
}

Result<server::ModelFacts> inspect_served(const store::ModelSource& source, const ModelOptions& options) {
    ETNA_TRY(const auto choice, read_chat_template(options.chat_template));
    ETNA_TRY(const auto summary, generate::inspect(source, choice));
    const uint64_t wished = options.executor.context_tokens;
    const uint64_t context = wished > 0 ? wished : summary.trained_context_tokens;
    return server::ModelFacts{.context_tokens = static_cast<uint32_t>(context),
                              .has_chat_template = summary.can_chat,
                              .stand_in_template = summary.stand_in_template};
}

Status check_named(const std::vector<server::NamedSource>& named, const ModelOptions& options,
                   const Environment& environment) {
    for (const server::NamedSource& model : named) {
        const auto facts = inspect_served(model.source, options);
        if (!facts)
            return facts.error();
    }
    ETNA_TRY(const auto draft, find_draft(options, environment));
    if (draft) {
        const auto summary = generate::inspect(*draft, {});
        return summary ? Status() : summary.error();
    }
    return {};
}

Status check_template(const ModelOptions& options, bool is_taken) {
    if (is_taken || options.chat_template.empty())
        return {};
    ETNA_TRY(const auto demo, store::resolve(store::demo_name, {}));
    const auto facts = inspect_served(demo, options);
    return facts ? Status() : facts.error();
}

} // namespace etna::cli
