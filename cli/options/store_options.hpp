#pragma once

#include "cli/options/option_values.hpp"
#include "server/app/server.hpp"

#include <span>

namespace etna::cli {

/// Options of the response store.
std::span<const Option> store_options();

/// Reads what `etna serve` stores, and its limits. An empty file means the default one, and memory may then
/// be used instead. Errors: invalid_argument.
Result<server::PersistenceOptions> read_store(const OptionValues& values);

} // namespace etna::cli
