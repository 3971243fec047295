#include "core/kernels/library.hpp"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::kernels {
namespace {

bool has_feature(const vk::DeviceProfile& profile, shaders::Feature feature) {
    switch (feature) {
    case shaders::Feature::subgroup_arithmetic:
        return profile.subgroup_arithmetic;
    case shaders::Feature::cooperative_matrix:
        return profile.cooperative_matrix;
    case shaders::Feature::shader_float16:
        return profile.shader_float16;
    case shaders::Feature::storage_16bit:
        return profile.storage_16bit;
    }
    return false;
}

/// Error that explains why a variant with this code cannot run there; success if it can.
Status usable(const shaders::Code& code, const vk::DeviceProfile& profile) {
    using shaders::Feature;
    if (code.words.empty()) {
        return Error{ErrorKind::unsupported, fmt::format("kernel {} was left out of this build", code.name),
                     "build with a newer glslang"};
    }
    for (const auto& [feature, name] : {std::pair{Feature::subgroup_arithmetic, "subgroup arithmetic"},
                                        std::pair{Feature::cooperative_matrix, "cooperative matrices"},
                                        std::pair{Feature::shader_float16, "16-bit floats in shaders"},
                                        std::pair{Feature::storage_16bit, "16-bit storage"}}) {
        if ((code.required & static_cast<uint32_t>(feature)) != 0 && !has_feature(profile, feature)) {
            return Error{ErrorKind::unsupported,
                         fmt::format("kernel {} needs {}, which {} lacks", code.name, name, profile.name)};
        }
    }
    return {};
}

} // namespace

Status usable(shaders::Variant variant, const vk::DeviceProfile& profile) {
    return usable(shaders::code(variant), profile);
}

struct Library::Impl {
    using Key = std::pair<shaders::Variant, std::vector<uint32_t>>;

    vk::Device& device; // borrowed
    PlanTarget target;
    CodeSource code;
    std::mutex mutex;
    std::map<Key, vk::Pipeline> pipelines; // stable addresses

    Impl(vk::Device& used, PlanTarget plan, CodeSource source)
        : device(used), target(std::move(plan)), code(std::move(source)) {}
};

Library::Library(vk::Device& device, LibraryOptions options)
    : impl_(std::make_unique<Impl>(
          device,
          PlanTarget{.family = options.family.value_or(natural_family(device.profile())),
                     .profile = device.profile(),
                     .untrusted = options.untrusted},
          std::move(options.code))) {}

Library::~Library() = default;

const PlanTarget& Library::target() const {
    return impl_->target;
}

vk::Device& Library::device() const {
    return impl_->device;
}

Result<const vk::Pipeline*> Library::pipeline(shaders::Variant variant,
                                              std::span<const uint32_t> specialization,
                                              uint32_t push_constant_bytes) {
    Impl::Key key(variant, {specialization.begin(), specialization.end()});
    {
        const std::scoped_lock lock(impl_->mutex);
        if (const auto found = impl_->pipelines.find(key); found != impl_->pipelines.end())
            return &found->second;
    }
    const shaders::Code& code = impl_->code(variant);
    ETNA_CHECK(usable(code, impl_->target.profile));
    ETNA_TRY(vk::Pipeline created,
             vk::Pipeline::create(impl_->device, {.label = code.name,
                                                  .code = code.words,
                                                  .specialization = specialization,
                                                  .push_constant_bytes = push_constant_bytes}));
    const std::scoped_lock lock(impl_->mutex); // the first pipeline inserted wins
    return &impl_->pipelines.emplace(std::move(key), std::move(created)).first->second;
}

std::vector<CreatedPipeline> Library::created() const {
    const std::scoped_lock lock(impl_->mutex);
    std::vector<CreatedPipeline> all;
    for (const auto& [key, pipeline] : impl_->pipelines)
        all.push_back({.variant = key.first, .specialization = key.second, .pipeline = &pipeline});
    return all;
}

} // namespace etna::kernels
