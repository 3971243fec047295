#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::runtime {

/// A file in the cache folder for one device, driver and kernel build. read() and write() ignore failures.
class DeviceFile {
public:
    /// `kind` names the file; `more` adds to the key. With an empty folder nothing is stored.
    DeviceFile(const std::filesystem::path& folder, const vk::DeviceProfile& profile, std::string_view kind,
               std::string_view more = {});

    /// Returns the content last written; empty if the file is missing.
    [[nodiscard]] std::vector<std::byte> read() const;
    void write(ByteView content) const;
    /// As write(), for content that must not get lost. Errors: io; invalid_argument without a folder.
    [[nodiscard]] Status try_write(ByteView content) const;
    [[nodiscard]] bool exists() const;
    /// Success without a file. Errors: io.
    [[nodiscard]] Status remove() const;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; } ///< empty without a folder

private:
    std::filesystem::path path_; ///< empty: nothing is stored
    std::string key_;
};

} // namespace etna::runtime
