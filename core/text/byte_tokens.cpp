#include "core/text/byte_tokens.hpp"

#include <fmt/format.h>

namespace etna::text {

ByteTokens::ByteTokens(const Vocabulary& vocabulary) : unknown_(vocabulary.special.unknown) {
    for (TokenId token = 0; token < vocabulary.names.size(); ++token) {
        if (const auto byte = byte_of_name(vocabulary.names[token]); byte && !token_of_byte_[*byte])
            token_of_byte_[*byte] = token;
    }
}

Status ByteTokens::append(std::string_view bytes, std::vector<TokenId>& tokens) const {
    for (const char byte : bytes) {
        if (const auto token = token_of_byte_[static_cast<uint8_t>(byte)]) {
            tokens.push_back(*token);
        } else if (unknown_) {
            tokens.push_back(*unknown_);
        } else {
            return invalid_argument(fmt::format("the model's vocabulary has no token for the byte 0x{:02X}",
                                                static_cast<uint8_t>(byte)));
        }
    }
    return {};
}

} // namespace etna::text
