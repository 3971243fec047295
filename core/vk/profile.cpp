#include "core/vk/profile.hpp"

#include <fmt/format.h>

namespace etna::vk {

std::string uuid_text(const DeviceProfile& profile) {
    std::string text;
    for (const uint8_t byte : profile.uuid)
        text += fmt::format("{:02x}", byte);
    return text;
}

} // namespace etna::vk
