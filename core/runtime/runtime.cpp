#include "core/runtime/device.hpp"

#include "core/engine/device/device_executor.hpp"
#include "core/kernels/library.hpp"
#include "core/model/kernel_scope.hpp"
#include "core/runtime/pipeline_cache.hpp"
#include "core/runtime/self_check.hpp"
#include "core/runtime/validated_executor.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"

#include <memory>
#include <utility>

namespace etna::runtime {
namespace {

/// Builds with ETNA_CHECKS enable the validation layer, and fail on any of its messages.
#if ETNA_CHECKS
constexpr vk::Validation validation = vk::Validation::on;
#else
constexpr vk::Validation validation = vk::Validation::off;
#endif

/// A device and the instance that it belongs to.
struct OpenDevice {
    std::shared_ptr<vk::Instance> instance;
    std::unique_ptr<vk::Device> device; // declared after the instance, so destroyed before it
};

kernels::CacheFormat format_of(KvType type) {
    switch (type) {
    case KvType::f32:
        return kernels::CacheFormat::f32;
    case KvType::q8_0:
        return kernels::CacheFormat::q8_0;
    case KvType::f16:
        break;
    }
    return kernels::CacheFormat::f16;
}

Result<engine::DeviceExecutorOptions> executor_options(const ExecutorOptions& options) {
    engine::DeviceExecutorOptions engine_options;
    engine_options.context_tokens = options.context_tokens;
    engine_options.kv_memory_bytes = options.kv_memory_bytes;
    engine_options.cache_formats = {.keys = format_of(options.key_type),
                                    .values = format_of(options.value_type)};
    engine_options.contexts = options.sequences_max;
    engine_options.sequences_max = options.sequences_max;
    engine_options.batch_rows_max = options.batch_tokens_max;
    engine_options.progress = options.progress;
    if (!options.plan_as.empty()) {
        engine_options.plan_as = kernels::plan_family_named(options.plan_as);
        if (!engine_options.plan_as)
            return invalid_argument("unknown device family `" + options.plan_as + "`");
    }
    return engine_options;
}

} // namespace

Result<std::shared_ptr<vk::Instance>> Devices::instance() {
    const std::scoped_lock lock(mutex_);
    if (instance_ == nullptr) {
        ETNA_TRY(instance_, vk::Instance::create(validation));
    }
    return instance_;
}

Result<DeviceReports> Devices::list(std::string_view device, const std::filesystem::path& cache_folder) {
    ETNA_TRY(const auto open, instance());
    return list_devices(*open, device, cache_folder);
}

Result<LoadedExecutor> Devices::load(const gguf::File& file, const ExecutorOptions& options) {
    ETNA_TRY(auto engine_options, executor_options(options));
    auto open = std::make_shared<OpenDevice>();
    ETNA_TRY(open->instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(open->instance->devices(), options.device));
    PipelineCache pipelines(options.cache_folder, chosen.profile);
    ETNA_TRY(open->device,
             vk::Device::create(*open->instance, chosen, {.pipeline_cache = pipelines.stored()}));
    ETNA_TRY(engine_options.untrusted, check_kernels(*open->device, {.cache_folder = options.cache_folder,
                                                                     .plan_as = engine_options.plan_as,
                                                                     .scope = model::kernel_scope(file)}));
    ETNA_TRY(auto executor, engine::create_device_executor(*open->device, file, engine_options));
    pipelines.keep(open->device->pipeline_cache());
    if (validation == vk::Validation::on)
        executor = validated(std::move(executor), *open->instance);
    const vk::DeviceProfile& profile = open->device->profile();
    return LoadedExecutor{.device = open,
                          .executor = std::move(executor),
                          .device_name = profile.name,
                          .on_cpu = profile.type == vk::DeviceType::cpu,
                          .memory = [open] {
                              const vk::MemoryState state = open->device->memory();
                              return DeviceMemory{.free_bytes = state.free_bytes,
                                                  .total_bytes = state.total_bytes};
                          }};
}

} // namespace etna::runtime
