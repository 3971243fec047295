#include "core/generate/pipeline_cache.hpp"

#include "core/base/log.hpp"
#include "core/kernels/library.hpp"
#include "core/store/cache_file.hpp"

#include <span>
#include <string_view>

#include <fmt/format.h>

namespace etna::generate {

PipelineCache::PipelineCache(const std::filesystem::path& folder, const vk::DeviceProfile& profile) {
    if (folder.empty())
        return;
    key_ = fmt::format("{} {} {:x} {:x} kernels {:x}", vk::uuid_text(profile), profile.driver,
                       profile.driver_version, profile.api_version, kernels::build_hash);
    const uint64_t hash = store::fnv1a(std::as_bytes(std::span(std::string_view(key_))));
    path_ = folder / fmt::format("pipelines-{:016x}.bin", hash);
    kept_ = store::read_cache_file(path_, key_).value_or(std::vector<std::byte>());
}

void PipelineCache::keep(const std::vector<std::byte>& pipelines) {
    if (path_.empty() || pipelines.empty() || pipelines == kept_)
        return;
    if (const Status written = store::write_cache_file(path_, key_, pipelines); !written)
        log(LogLevel::info, written.error().message);
    kept_ = pipelines;
}

} // namespace etna::generate
