#pragma once

#include "core/base/bytes.hpp"
#include "core/vk/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

/// A file of the cache folder for one device, driver and build of the kernels. What cannot be read or written
/// is done without.
class DeviceFile {
public:
    /// `kind` names the file; `more` is what it depends on besides. An empty folder keeps nothing.
    DeviceFile(const std::filesystem::path& folder, const vk::DeviceProfile& profile, std::string_view kind,
               std::string_view more = {});

    /// What was written last; empty when there is nothing.
    [[nodiscard]] std::vector<std::byte> read() const;
    void write(ByteView content) const;

private:
    std::filesystem::path path_; ///< empty: nothing is kept
    std::string key_;
};

} // namespace etna::generate
