#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "server/server.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace etna::cli {

/// The validated command line of `etna serve`.
struct ServeOptions {
    ModelOptions model; ///< for every served model; its name is unused
    std::vector<std::string> models;
    std::vector<std::vector<std::string>> names; ///< replace the names of the first models
    std::filesystem::path models_folder;         ///< empty: none
    std::size_t models_max = 0;                  ///< 0: no limit
    std::filesystem::path api_key_file;          ///< empty: none
    bool shows_routes = false;                   ///< print the routes and exit
    server::ServerOptions server;
    Verbosity verbosity = Verbosity::quiet;
};

/// Errors: invalid_argument.
Result<ServeOptions> validate_serve(const Command& command, const TypedArguments& arguments);

/// Runs `etna serve`: serves HTTP until it is interrupted or terminated. Blocking.
ExitCode serve_command(const ServeOptions& options, const Environment& environment);

} // namespace etna::cli
