#include "core/store/cache_file.hpp"

#include "core/base/whole_file.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <system_error>

namespace etna::store {
namespace {

struct Header {
    std::array<char, 8> magic{'E', 'T', 'N', 'A', 'C', 'H', 'E', '1'};
    uint64_t key_bytes = 0;
    uint64_t content_bytes = 0;
    uint64_t checksum = 0;
};

ByteView bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

Header header_of(std::string_view key, ByteView content) {
    return {.key_bytes = key.size(),
            .content_bytes = content.size(),
            .checksum = fnv1a(content, fnv1a(bytes_of(key)))};
}

} // namespace

uint64_t fnv1a(ByteView bytes, uint64_t seed) {
    constexpr uint64_t prime = 0x100000001b3U;
    for (const std::byte byte : bytes)
        seed = (seed ^ std::to_integer<uint64_t>(byte)) * prime;
    return seed;
}

std::optional<std::vector<std::byte>> read_cache_file(const std::filesystem::path& path,
                                                      std::string_view key) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) // a pipe would block
        return std::nullopt;
    const uint64_t size = std::filesystem::file_size(path, failure);
    if (failure || size < sizeof(Header) + key.size() || size > cache_file_bytes_max)
        return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    Header header;
    std::string found_key(key.size(), '\0');
    std::vector<std::byte> content(size - sizeof(Header) - key.size());
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    file.read(found_key.data(), static_cast<std::streamsize>(found_key.size()));
    file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
    const Header expected = header_of(key, content);
    if (!file || found_key != key || std::memcmp(&header, &expected, sizeof header) != 0)
        return std::nullopt;
    return content;
}

Status write_cache_file(const std::filesystem::path& path, std::string_view key, ByteView content) {
    const Header header = header_of(key, content);
    const std::array parts = {std::as_bytes(std::span(&header, 1)), bytes_of(key), content};
    return write_whole_file(path, parts);
}

} // namespace etna::store
