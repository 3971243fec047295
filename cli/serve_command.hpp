#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"
#include "cli/generation_options.hpp"
#include "server/server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace etna::cli {

/// `etna serve`'s command line, checked.
struct ServeOptions {
    ModelOptions model; ///< for every one of them; its name is not used
    std::vector<std::string> models;
    std::vector<std::vector<std::string>> names; ///< of the first models, in place of their own
    std::filesystem::path models_folder;         ///< empty: none
    std::size_t models_max = 0;                  ///< 0: no bound
    std::filesystem::path api_key_file;          ///< empty: none
    bool shows_routes = false;                   ///< and nothing else
    server::ServerOptions server;
    Verbosity verbosity = Verbosity::quiet;
};

/// Errors: invalid_argument.
Result<ServeOptions> validate_serve(const Command& command, const TypedArguments& arguments);

/// `etna serve`: answers over HTTP until it is interrupted or terminated. Blocking.
ExitCode serve_command(const ServeOptions& options, const Environment& environment);

} // namespace etna::cli
