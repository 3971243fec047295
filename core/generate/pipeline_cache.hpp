#pragma once

#include "core/base/bytes.hpp"
#include "core/generate/device_file.hpp"
#include "core/vk/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace etna::generate {

/// Compiled pipelines on disk, for one device, driver and build. What cannot be read or written is done
/// without: the driver compiles again.
class PipelineCache {
public:
    /// An empty folder keeps nothing.
    PipelineCache(const std::filesystem::path& folder, const vk::DeviceProfile& profile);

    /// What was kept last; empty when there is nothing.
    [[nodiscard]] ByteView kept() const { return kept_; }

    /// Keeps `pipelines` where they are not what is kept already.
    void keep(const std::vector<std::byte>& pipelines);

private:
    DeviceFile file_;
    std::vector<std::byte> kept_;
};

} // namespace etna::generate
