#pragma once

#include "server/access.hpp"
#include "server/memory/store.hpp"
#include "server/responses/run.hpp"
#include "server/responses/seal.hpp"

#include <optional>
#include <string_view>

namespace etna::server::responses {

/// What a server keeps between requests. Thread-safe.
struct Keeping {
    std::optional<memory::Store> store; ///< empty: nothing is kept
    Seal seal;
    Runs runs = {};
};

/// Whose entries a request may see: those of its key.
memory::Owner owner_of(const AccessRules& access, const HttpRequest& request);

} // namespace etna::server::responses
