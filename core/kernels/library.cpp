#include "core/kernels/library.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <tuple>
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
    case shaders::Feature::shader_int64:
        return profile.shader_int64;
    case shaders::Feature::integer_dot_product:
        return profile.integer_dot_product;
    case shaders::Feature::large_push_constants:
        return profile.large_push_constants;
    case shaders::Feature::subgroup_shuffle:
        return profile.subgroup_shuffle;
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
    for (const auto& [feature, name] :
         {std::pair{Feature::subgroup_arithmetic, "subgroup arithmetic"},
          std::pair{Feature::cooperative_matrix, "cooperative matrices"},
          std::pair{Feature::shader_float16, "16-bit floats in shaders"},
          std::pair{Feature::storage_16bit, "16-bit storage"},
          std::pair{Feature::shader_int64, "64-bit integers in shaders"},
          std::pair{Feature::integer_dot_product, "integer dot products"},
          std::pair{Feature::large_push_constants, "256 bytes of push constants"},
          std::pair{Feature::subgroup_shuffle, "shuffles and votes of subgroups"}}) {
        if ((code.required & static_cast<uint32_t>(feature)) != 0 && !has_feature(profile, feature)) {
            return Error{ErrorKind::unsupported,
                         fmt::format("kernel {} needs {}, which {} lacks", code.name, name, profile.name)};
        }
    }
    return {};
}

/// Pipelines by variant and specialisation constants. They are never removed, so that lookups need no lock:
/// each dispatch of each model of the device makes one. Thread-safe.
class PipelineTable {
public:
    /// Null if there is none.
    [[nodiscard]] const vk::Pipeline* find(shaders::Variant variant, std::span<const uint32_t> specialization,
                                           uint32_t subgroup) const {
        const Entry* entry = head(variant).load(std::memory_order_acquire);
        while (entry != nullptr &&
               (entry->subgroup != subgroup || !std::ranges::equal(entry->specialization, specialization)))
            entry = entry->next;
        return entry == nullptr ? nullptr : &entry->pipeline;
    }

    /// Returns the pipeline that another thread has inserted in the meantime, else the new one.
    const vk::Pipeline* insert(shaders::Variant variant, std::span<const uint32_t> specialization,
                               uint32_t subgroup, vk::Pipeline created) {
        const std::scoped_lock lock(mutex_);
        if (const vk::Pipeline* const found = find(variant, specialization, subgroup); found != nullptr)
            return found;
        entries_.push_back({.variant = variant,
                            .specialization = {specialization.begin(), specialization.end()},
                            .subgroup = subgroup,
                            .pipeline = std::move(created),
                            .next = head(variant).load(std::memory_order_relaxed)});
        head(variant).store(&entries_.back(), std::memory_order_release);
        return &entries_.back().pipeline;
    }

    [[nodiscard]] std::vector<CreatedPipeline> all() const {
        const std::scoped_lock lock(mutex_);
        std::vector<CreatedPipeline> created;
        created.reserve(entries_.size());
        for (const Entry& entry : entries_) {
            created.push_back({.variant = entry.variant,
                               .specialization = entry.specialization,
                               .subgroup = entry.subgroup,
                               .pipeline = &entry.pipeline});
        }
        std::ranges::sort(created, {}, [](const auto& one) {
            return std::tie(one.variant, one.specialization, one.subgroup);
        });
        return created;
    }

private:
    struct Entry {
        shaders::Variant variant{};
        std::vector<uint32_t> specialization;
        uint32_t subgroup = 0;
        vk::Pipeline pipeline;
        const Entry* next = nullptr; ///< of the same variant
    };
    using Head = std::atomic<const Entry*>;
    [[nodiscard]] const Head& head(shaders::Variant variant) const {
        return heads_[static_cast<std::size_t>(variant)];
    }
    [[nodiscard]] Head& head(shaders::Variant variant) { return heads_[static_cast<std::size_t>(variant)]; }

    std::array<Head, shaders::variant_count> heads_{}; ///< the newest entry of each variant
    mutable std::mutex mutex_;                         ///< guards entries_, and serialises insert()
    std::deque<Entry> entries_;                        ///< stable addresses
};

} // namespace

Status usable(shaders::Variant variant, const vk::DeviceProfile& profile) {
    return usable(shaders::code(variant), profile);
}

struct Library::Impl {
    vk::Device& device; // borrowed
    PlanTarget target;
    CodeSource code;
    PipelineTable pipelines;

    Impl(vk::Device& used, PlanTarget plan, CodeSource source)
        : device(used), target(std::move(plan)), code(std::move(source)) {}
};

Library::Library(vk::Device& device, LibraryOptions options)
    : impl_(std::make_unique<Impl>(
          device,
          PlanTarget{.family = options.family.value_or(natural_family(device.profile())),
                     .profile = device.profile(),
                     .untrusted = options.untrusted,
                     .precision = options.precision,
                     .tuning = std::move(options.tuning)},
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
                                              uint32_t push_constant_bytes, uint32_t subgroup) {
    if (const vk::Pipeline* const found = impl_->pipelines.find(variant, specialization, subgroup))
        return found;
    const shaders::Code& code = impl_->code(variant);
    ETNA_CHECK(usable(code, impl_->target.profile));
    ETNA_TRY(vk::Pipeline created,
             vk::Pipeline::create(impl_->device, {.label = code.name,
                                                  .code = code.words,
                                                  .specialization = specialization,
                                                  .push_constant_bytes = push_constant_bytes,
                                                  .required_subgroup_size = subgroup}));
    return impl_->pipelines.insert(variant, specialization, subgroup, std::move(created));
}

std::vector<CreatedPipeline> Library::created() const {
    return impl_->pipelines.all();
}

} // namespace etna::kernels
