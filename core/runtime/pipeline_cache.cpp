#include "core/runtime/pipeline_cache.hpp"

namespace etna::runtime {

PipelineCache::PipelineCache(const std::filesystem::path& folder, const vk::DeviceProfile& profile)
    : file_(folder, profile, "pipelines"), stored_(file_.read()) {}

void PipelineCache::keep(const std::vector<std::byte>& pipelines) {
    if (pipelines.empty() || pipelines == stored_)
        return;
    file_.write(pipelines);
    stored_ = pipelines;
}

} // namespace etna::runtime
