#include "server/base/ids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

#include <fmt/format.h>
#include <sys/random.h>

namespace etna::server {
namespace {

template <std::size_t count>
std::array<uint8_t, count> random_bytes() {
    std::array<uint8_t, count> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()))
        return bytes;
    std::random_device source; // the kernel lacks getrandom()
    for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(source());
    return bytes;
}

} // namespace

std::string random_hex(std::size_t bytes) {
    std::string text;
    while (text.size() < 2 * bytes) {
        for (const uint8_t byte : random_bytes<8>())
            text += fmt::format("{:02x}", byte);
    }
    text.resize(2 * bytes);
    return text;
}

std::string new_uuid() {
    auto bytes = random_bytes<16>();
    bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0F) | 0x40);
    bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3F) | 0x80);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    return text;
}

std::string new_id(std::string_view prefix) {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string id(prefix);
    for (const uint8_t byte : random_bytes<24>())
        id += digits[byte % digits.size()];
    return id;
}

bool equal_in_constant_time(std::string_view one, std::string_view other) {
    unsigned difference = one.size() == other.size() ? 0 : 1;
    for (std::size_t i = 0; i < one.size(); ++i) {
        const char compared = other.empty() ? '\0' : other[i % other.size()];
        difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(compared);
    }
    return difference == 0;
}

} // namespace etna::server
