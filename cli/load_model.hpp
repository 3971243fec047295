#pragma once

#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/store/resolve.hpp"

#include <optional>
#include <string>

namespace etna::cli {

/// Finds, loads and checks the model, with a progress bar; reports a CPU device and limits of the context.
/// Blocking. Errors: those of find_model, generate::Model::load and read_chat_template.
Result<generate::Model> load_model(const ModelOptions& options, const Environment& environment,
                                   Diagnostics& diagnostics);

/// Returns the options for generate::Model::load, without progress. Borrows `draft`.
generate::LoadOptions load_options(const ModelOptions& options, generate::ChatTemplateChoice chat_template,
                                   const std::optional<store::ModelSource>& draft,
                                   const Environment& environment);

/// Returns the model of --draft; empty if the option is absent. Errors: those of store::resolve.
Result<std::optional<store::ModelSource>> find_draft(const ModelOptions& options,
                                                     const Environment& environment);

/// Reads --chat-template: the content of a file if one of that name exists, otherwise a name. Errors: io,
/// invalid_argument (longer than a template may be).
Result<generate::ChatTemplateChoice> read_chat_template(const std::string& option);

/// Returns seconds since 1970 in UTC: SOURCE_DATE_EPOCH if it is a number, otherwise the clock.
int64_t now_unix_s(const Variables& variables);

} // namespace etna::cli
