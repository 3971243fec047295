#pragma once

#include "core/base/result.hpp"
#include "core/text/vocabulary.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::text {

/// The tokens of single bytes, such as <0x0A>, for characters without a token. Immutable; thread-safe.
class ByteTokens {
public:
    explicit ByteTokens(const Vocabulary& vocabulary);

    /// Appends a token for each byte, the unknown token for bytes without one. Errors: invalid_argument (a
    /// byte without a token, and no unknown token either).
    Status append(std::string_view bytes, std::vector<TokenId>& tokens) const;

private:
    std::array<std::optional<TokenId>, 256> token_of_byte_;
    std::optional<TokenId> unknown_;
};

} // namespace etna::text
