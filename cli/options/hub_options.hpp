#pragma once

#include "cli/options/option_values.hpp"

#include <span>
#include <string>

namespace etna::cli {

enum class Network : uint8_t { used, unused };

/// Where models that are not stored come from.
struct HubOptions {
    std::string url; ///< without a final slash
    Network network = Network::used;
};

/// Options of the hub, for commands with a model.
std::span<const Option> hub_options();

/// Errors: invalid_argument (the address is not http or https, or has a user's name in it).
Result<HubOptions> read_hub(const OptionValues& values);

} // namespace etna::cli
