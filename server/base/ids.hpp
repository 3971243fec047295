#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace etna::server {

/// Random bytes as hexadecimal digits, two a byte.
std::string random_hex(std::size_t bytes);

/// A random UUID, version 4 (RFC 9562).
std::string new_uuid();

/// `prefix` followed by 24 random letters and digits: "chatcmpl-...", "call_...".
std::string new_id(std::string_view prefix);

/// Compares two strings in time that depends only on their lengths.
bool equal_in_constant_time(std::string_view one, std::string_view other);

} // namespace etna::server
