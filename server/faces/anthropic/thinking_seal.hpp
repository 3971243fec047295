#pragma once

#include "server/base/json.hpp"
#include "server/base/seal.hpp"
#include "server/storage/store.hpp"

#include <optional>
#include <string>

namespace etna::server::anthropic {

/// Signs or encrypts the model's thinking, so that only blocks that this server has sent can enter a prompt
/// again. Thread-safe.
class ThinkingSeal {
public:
    /// Borrows `seal`. An owner's blocks are not accepted from other owners.
    ThinkingSeal(const Seal& seal, const storage::Owner& owner);

    /// Returns the signature of a thinking block: of its text, or the encrypted text itself if the block
    /// hides it.
    [[nodiscard]] std::string sign(const std::string& thinking, bool is_hidden) const;

    /// Returns the thinking of a block from a request, of type `thinking` or `redacted_thinking`; empty if
    /// this server has not sent it, or it was modified.
    [[nodiscard]] std::optional<std::string> open(const Json& block) const;

private:
    const Seal* seal_;
    std::string purpose_;
};

} // namespace etna::server::anthropic
