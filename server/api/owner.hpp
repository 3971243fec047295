#pragma once

#include "server/api/access.hpp"
#include "server/storage/store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::server {

/// The owner whose entries a request can access: its API key's.
storage::Owner owner_of(const AccessRules& access, const HttpRequest& request);

/// The head of a request in the name of an owner: with its key, or without a key as `anonymous`. Empty if the
/// key was removed from the server.
std::optional<HttpRequest> request_of_owner(const AccessRules& access, const storage::Owner& owner,
                                            const HttpRequest& anonymous);

/// Returns the sealing purpose combined with the owner, so that only the same owner can unseal.
std::string purpose_of(std::string_view purpose, const storage::Owner& owner);

} // namespace etna::server
