#pragma once

#include "core/base/bytes.hpp"
#include "core/runtime/device_file.hpp"
#include "core/vk/profile.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace etna::runtime {

/// Compiled pipelines on disk, for one device, driver and build. Read and write failures are ignored: the
/// driver compiles again.
class PipelineCache {
public:
    /// With an empty folder nothing is stored.
    PipelineCache(const std::filesystem::path& folder, const vk::DeviceProfile& profile);

    /// Returns the content last stored; empty if there is none.
    [[nodiscard]] ByteView kept() const { return kept_; }

    /// Stores `pipelines` if they differ from the stored content.
    void keep(const std::vector<std::byte>& pipelines);

private:
    DeviceFile file_;
    std::vector<std::byte> kept_;
};

} // namespace etna::runtime
