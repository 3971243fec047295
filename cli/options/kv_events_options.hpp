#pragma once

#include "cli/options/option_values.hpp"
#include "server/kv_events/publisher.hpp"

#include <optional>
#include <span>
#include <string>

namespace etna::cli {

/// What `etna serve` publishes of its caches.
struct KvEventsOptions {
    server::kv_events::PublisherOptions publisher;
    std::string pod; ///< empty: the host's name and the server's port
};

/// Options of the events of the caches.
std::span<const Option> kv_events_options();

/// Empty without --kv-events. Errors: invalid_argument.
Result<std::optional<KvEventsOptions>> read_kv_events(const OptionValues& values);

} // namespace etna::cli
