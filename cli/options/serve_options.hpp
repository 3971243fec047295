#pragma once

#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/kv_events_options.hpp"
#include "core/base/result.hpp"
#include "server/app/server.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etna::cli {

/// Models that requests may name.
enum class RequestedModels : uint8_t {
    served, ///< those of the command line and of --models-dir
    stored, ///< also those on this machine
    pulled, ///< also those of the hub, which are fetched first
};

/// The validated command line of `etna serve`.
struct ServeOptions {
    ModelOptions model; ///< for every served model; its name is unused
    std::vector<std::string> models;
    std::vector<std::vector<std::string>> names;          ///< replace the names of the first models
    std::filesystem::path models_folder;                  ///< empty: none
    std::size_t models_max = 0;                           ///< 0: no limit
    uint64_t models_bytes_max = UINT64_MAX;               ///< memory of all loaded models
    std::vector<std::string> pinned;                      ///< names of models that stay in memory
    std::optional<std::chrono::milliseconds> sleep_after; ///< empty: never
    RequestedModels requested = RequestedModels::served;
    bool grants_store = false;                ///< clients may fetch, copy and remove stored models
    bool shows_routes = false;                ///< print the routes and exit
    bool opens_page = false;                  ///< open the page in a browser when the server is ready
    std::optional<KvEventsOptions> kv_events; ///< empty: the caches are not published
    server::ServerOptions server;
    Verbosity verbosity = Verbosity::quiet;
};

/// Arguments, options and examples of `etna serve`; without the function that runs it.
Command serve_command_line();

/// Errors: invalid_argument.
Result<ServeOptions> validate_serve(const Command& command, const TypedArguments& arguments);

} // namespace etna::cli
