#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"

#include <optional>
#include <string>

namespace etna::cli {

enum class Adaptation { none, wanted };
enum class RenderForm { text, json };

/// The validated command line of `etna render`.
struct RenderOptions {
    std::string model; ///< empty: none
    std::string chat_template;
    std::optional<std::string> bos;
    std::optional<std::string> eos;
    Adaptation adaptation = Adaptation::none;
    RenderForm form = RenderForm::text;
};

/// Errors: invalid_argument.
Result<RenderOptions> validate_render(const Command& command, const TypedArguments& arguments);

/// Runs `etna render`: prints the prompt rendered from a chat request on standard input. Blocking.
ExitCode render_command(const RenderOptions& options, const Environment& environment);

} // namespace etna::cli
