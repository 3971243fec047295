#include "core/runtime/device_file.hpp"

#include "core/base/log.hpp"
#include "core/kernels/library.hpp"
#include "core/store/cache_file.hpp"

#include <span>
#include <system_error>

#include <fmt/format.h>

namespace etna::runtime {

DeviceFile::DeviceFile(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                       std::string_view kind, std::string_view more) {
    if (folder.empty())
        return;
    key_ = fmt::format("{} {} {:x} {:x} kernels {:x}{}{}", vk::uuid_text(profile), profile.driver,
                       profile.driver_version, profile.api_version, kernels::build_hash,
                       more.empty() ? "" : " ", more);
    const uint64_t hash = store::fnv1a(std::as_bytes(std::span(std::string_view(key_))));
    path_ = folder / fmt::format("{}-{:016x}.bin", kind, hash);
}

std::vector<std::byte> DeviceFile::read() const {
    if (path_.empty())
        return {};
    return store::read_cache_file(path_, key_).value_or(std::vector<std::byte>());
}

void DeviceFile::write(ByteView content) const {
    if (path_.empty())
        return;
    if (const Status written = try_write(content); !written)
        log(LogLevel::info, written.error().message);
}

Status DeviceFile::try_write(ByteView content) const {
    if (path_.empty())
        return invalid_argument("no cache folder is known", "set HOME or XDG_CACHE_HOME");
    return store::write_cache_file(path_, key_, content);
}

bool DeviceFile::exists() const {
    std::error_code failure;
    return !path_.empty() && std::filesystem::exists(path_, failure);
}

Status DeviceFile::remove() const {
    std::error_code failure;
    if (!path_.empty())
        std::filesystem::remove(path_, failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot remove {}: {}", path_.string(), failure.message()),
                     "check the permissions of the cache folder"};
    return {};
}

} // namespace etna::runtime
