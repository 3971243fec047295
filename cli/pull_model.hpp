#pragma once

#include "cli/environment.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/base/cancel.hpp"
#include "core/store/backoff.hpp"
#include "core/store/pull.hpp"
#include "core/store/remote_model.hpp"
#include "core/store/resolve.hpp"
#include "server/app/service.hpp"

#include <cstdint>
#include <string>

namespace etna::cli {

enum class DownloadConsent : uint8_t {
    ask,   ///< at a terminal; without one, nothing is fetched
    given, ///< by the command, or by --yes
};

struct PullSettings {
    HubOptions hub;
    store::RetryPolicy retries = {};
    uint32_t connections = 4;
    DownloadConsent consent = DownloadConsent::ask;
};

/// Fetches a model into the folder of models, with a progress bar on a terminal and plain lines otherwise.
/// Blocks; SIGINT and SIGTERM stop it. Errors: those of store::plan_pull
/// and store::pull; cancelled (by a signal), not_found (the user does not agree), invalid_argument (no
/// folder; HF_TOKEN is malformed), not_found (offline).
Result<store::Manifest> pull_model(const std::string& name, const PullSettings& settings,
                                   const Environment& environment, Diagnostics& diagnostics);

/// Reads the header of a model that is not stored (store::open_remote()). Blocks; SIGINT and SIGTERM stop it.
/// Errors: those of store::open_remote(); invalid_argument as pull_model(); not_found (offline).
Result<store::RemoteModel> open_remote_model(const std::string& name, const HubOptions& hub,
                                             const Environment& environment);

/// As pull_model() with consent, for another program's user: reports to the log, and to `report`, which may
/// be absent; stops when `is_stopped` returns true. Thread-safe. Errors: as pull_model(); also
/// invalid_argument (an address: clients choose no host that this machine connects to).
Result<store::Manifest> pull_for_request(const std::string& name, const HubOptions& hub,
                                         const Environment& environment, CancelPoll is_stopped,
                                         const server::StoreAccess::PullReport& report = {});

/// As store::resolve(); a remote model that is not stored is fetched if the user agrees at a terminal.
/// Blocks. Errors: those of store::resolve and pull_model.
Result<store::ModelSource> find_model(const std::string& name, const HubOptions& options,
                                      const Environment& environment, Diagnostics& diagnostics);

} // namespace etna::cli
