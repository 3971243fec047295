#pragma once

#include <cstdint>
#include <string>

namespace etna::chat {

enum class Role : uint8_t { system, user, assistant };

/// One turn of a conversation, UTF-8.
struct Message {
    Role role = Role::user;
    std::string content;
};

} // namespace etna::chat
