#include "core/store/cache_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

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

Error cannot(std::string_view what, const std::filesystem::path& path, std::string_view why) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), why)};
}

/// Removes the unfinished file unless it got its name.
struct Unfinished {
    std::string path;
    int descriptor;

    Unfinished(std::string file, int opened) : path(std::move(file)), descriptor(opened) {}
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        if (descriptor >= 0)
            ::close(descriptor);
        if (!path.empty())
            ::unlink(path.c_str());
    }
};

Status write_all(int descriptor, ByteView bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return cannot("write", path, std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
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
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    if (failure)
        return cannot("make the folder", path.parent_path(), failure.message());
    std::string name = path.string() + ".XXXXXX";
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0)
        return cannot("create", path, std::strerror(errno));
    Unfinished unfinished(name, descriptor);
    const Header header = header_of(key, content);
    for (const ByteView part : {std::as_bytes(std::span(&header, 1)), bytes_of(key), content})
        ETNA_CHECK(write_all(descriptor, part, path));
    if (::rename(name.c_str(), path.c_str()) != 0)
        return cannot("name", path, std::strerror(errno));
    unfinished.path.clear();
    return {};
}

} // namespace etna::store
