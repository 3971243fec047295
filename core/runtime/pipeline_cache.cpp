#include "core/runtime/pipeline_cache.hpp"

namespace etna::runtime {

PipelineCache::PipelineCache(const std::filesystem::path& folder, const vk::DeviceProfile& profile)
    : file_(folder, profile, "pipelines"), kept_(file_.read()) {}

void PipelineCache::keep(const std::vector<std::byte>& pipelines) {
    if (pipelines.empty() || pipelines == kept_)
        return;
    file_.write(pipelines);
    kept_ = pipelines;
}

} // namespace etna::runtime
