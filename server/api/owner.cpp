#include "server/api/owner.hpp"

#include "server/base/seal.hpp"

#include <fmt/format.h>

namespace etna::server {

std::optional<HttpRequest> request_of_owner(const AccessRules& access, const storage::Owner& owner,
                                            const HttpRequest& anonymous) {
    if (access.api_keys.empty())
        return owner.empty() ? std::optional(anonymous) : std::nullopt;
    for (const std::string& key : access.api_keys) {
        HttpRequest keyed = {.headers = {{"authorization", "Bearer " + key}}};
        if (owner_of(access, keyed) == owner)
            return keyed;
    }
    return std::nullopt;
}

storage::Owner owner_of(const AccessRules& access, const HttpRequest& request) {
    return access.api_keys.empty() ? storage::Owner() : sha256_hex(given_key(request));
}

std::string purpose_of(std::string_view purpose, const storage::Owner& owner) {
    return fmt::format("{} {}", purpose, owner);
}

} // namespace etna::server
