#pragma once

#include "cli/diagnostics.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"
#include "core/store/resolve.hpp"

#include <optional>
#include <string>

namespace etna::cli {

/// Finds, loads and checks the model, with a progress bar; says what a user should know of where it runs.
/// Blocking. Errors: those of store::resolve, generate::Model::load and read_chat_template.
Result<generate::Model> load_model(const ModelOptions& options, const Environment& environment,
                                   Diagnostics& diagnostics);

/// The model of --draft; empty where there is none. Errors: those of store::resolve.
Result<std::optional<store::ModelSource>> find_draft(const ModelOptions& options,
                                                     const Environment& environment);

/// --chat-template: the content of a file where there is one of that name, else a name. Errors: io,
/// invalid_argument (longer than a template may be).
Result<generate::ChatTemplateChoice> read_chat_template(const std::string& option);

/// Seconds since 1970 in UTC: SOURCE_DATE_EPOCH where it is a number, else the clock.
int64_t now_unix_s(const Variables& variables);

} // namespace etna::cli
