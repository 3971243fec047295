#include "core/runtime/memory_forecast.hpp"

#include "core/model/model.hpp"

#include <fmt/format.h>

namespace etna::runtime {
namespace {

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

Result<kernels::PlanTarget> target_of(const DeviceReport& device, const std::string& plan_as) {
    const auto family = plan_as.empty() ? std::optional(kernels::natural_family(device.profile))
                                        : kernels::plan_family_named(plan_as);
    if (!family)
        return invalid_argument(fmt::format("unknown device family `{}`", plan_as));
    return kernels::PlanTarget{
        .family = *family, .profile = device.profile, .untrusted = device.self_check.untrusted};
}

} // namespace

engine::DeviceSizes device_sizes(const ExecutorOptions& options) {
    return {.context_tokens = options.context_tokens,
            .cache_formats = {.keys = format_of(options.key_type), .values = format_of(options.value_type)},
            .adapts_cache_formats = options.adapts_kv_type,
            .kv_memory_bytes = options.kv_memory_bytes,
            .state_cache_bytes = options.state_cache_bytes,
            .contexts = options.sequences_max,
            .batch_rows_max = options.batch_tokens_max,
            .sequences_max = options.sequences_max,
            .has_draft_head = options.has_draft_head,
            .memory_bytes_max = options.memory_bytes_max,
            .context_tokens_min = options.context_tokens_min,
            .host_expert_layers = options.host_expert_layers};
}

Result<MemoryForecast> forecast_memory(const gguf::File& file, const DeviceReport& device,
                                       const ExecutorOptions& options) {
    constexpr uint64_t plentiful_bytes = uint64_t{1} << 50;
    ETNA_TRY(const kernels::PlanTarget target, target_of(device, options.plan_as));
    ETNA_TRY(model::Blueprint blueprint,
             model::plan_model(file, target, {.has_draft_head = options.has_draft_head}));
    engine::DeviceSizes sizes = device_sizes(options);
    const auto plan_with = [&](uint64_t free_bytes) {
        return engine::plan_load(file, blueprint, target, sizes,
                                 {.free_bytes = free_bytes,
                                  .total_bytes = device.total_bytes,
                                  .host_free_bytes = device.host_free_bytes});
    };
    MemoryForecast forecast;
    if (auto fitting = plan_with(device.free_bytes)) {
        forecast.plan = std::move(*fitting);
    } else if (fitting.error().kind != ErrorKind::out_of_memory) {
        return fitting.error();
    } else {
        sizes.contexts = 1;
        sizes.host_expert_layers = 0;
        ETNA_TRY(forecast.plan, plan_with(plentiful_bytes));
        forecast.plan.free_bytes = device.free_bytes;
        forecast.plan.reserve_bytes = engine::reserve_bytes(device.free_bytes);
        forecast.shortage = fitting.error();
    }
    forecast.memory = engine::plan_memory(blueprint, target, forecast.plan);
    return forecast;
}

} // namespace etna::runtime
