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

    /// Returns the content last stored; empty if nothing was stored.
    [[nodiscard]] ByteView stored() const { return stored_; }

    /// Stores `pipelines` if they differ from the stored content.
    void keep(const std::vector<std::byte>& pipelines);

private:
    DeviceFile file_;
    std::vector<std::byte> stored_;
};

} // namespace etna::runtime
