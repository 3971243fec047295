#include "core/runtime/runtime.hpp"

#include "core/engine/device/device_executor.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/matrix_rate.hpp"
#include "core/model/plan.hpp"
#include "core/runtime/copy_rate.hpp"
#include "core/runtime/memory_forecast.hpp"
#include "core/runtime/scheduled_executor.hpp"
#include "core/runtime/shared_device.hpp"
#include "core/runtime/validated_executor.hpp"
#include "core/vk/device.hpp"
#include "core/vk/instance.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace etna::runtime {
namespace {

using PlanReader = std::function<void(const engine::DevicePlan& plan, const engine::MemoryPlan& memory)>;

/// Returns a function that reports counts as the progress of one phase; empty without `progress`.
std::function<void(uint64_t, uint64_t)> counts_of(LoadProgress::Phase phase,
                                                  const std::function<void(const LoadProgress&)>& progress) {
    if (!progress)
        return {};
    return [phase, progress](uint64_t done, uint64_t total) {
        progress({.phase = phase, .done = done, .total = total});
    };
}

DeviceMemoryUse device_use_of(const engine::MemoryPlan& memory) {
    DeviceMemoryUse used = {.total_bytes = memory.reserved_bytes(engine::MemoryPlace::device)};
    for (const engine::MemoryUse& use : memory.uses) {
        if (use.place != engine::MemoryPlace::device)
            continue;
        if (use.kind == engine::MemoryKind::weights) {
            used.weights_bytes += use.bytes;
        } else if (use.kind == engine::MemoryKind::cache || use.kind == engine::MemoryKind::states ||
                   use.kind == engine::MemoryKind::snapshots) {
            used.cache_bytes += use.bytes;
        }
    }
    return used;
}

/// For libraries whose users launch kernels that are not checked.
Result<kernels::VariantSet> no_kernels(const kernels::PlanTarget&) {
    return kernels::VariantSet();
}

/// The kernels of a file's model, in steps of these options, found once for each set of untrusted ones.
/// Borrows the file.
kernels::NeededKernels kernels_of(const gguf::File& file, const ExecutorOptions& options) {
    const engine::DeviceSizes sizes = device_sizes(options);
    using Found = std::pair<kernels::VariantSet, kernels::VariantSet>; // untrusted, used
    const auto found = std::make_shared<std::vector<Found>>();
    return [&file, sizes, found](const kernels::PlanTarget& target) -> Result<kernels::VariantSet> {
        const auto known = std::ranges::find(*found, target.untrusted, &Found::first);
        if (known != found->end())
            return known->second;
        ETNA_TRY(const model::Blueprint blueprint,
                 model::plan_model(file, target, {.has_draft_head = sizes.has_draft_head}));
        ETNA_TRY(const kernels::VariantSet used,
                 model::used_kernels(model::DryModel(blueprint, target), sizes.cache_formats));
        found->emplace_back(target.untrusted, used);
        return used;
    };
}

/// Creates the executor of a model on an open device. One model loads at a time, because the next one's plan
/// counts what this one has allocated.
Result<std::unique_ptr<engine::Executor>> load_onto(SharedDevice& device, const gguf::File& file,
                                                    const ExecutorOptions& options,
                                                    std::shared_ptr<DeviceClient> client, Checks checks,
                                                    const PlanReader& planned) {
    std::optional<kernels::PlanFamily> plan_as;
    if (!options.plan_as.empty()) {
        plan_as = kernels::plan_family_named(options.plan_as);
        if (!plan_as)
            return invalid_argument("unknown device family `" + options.plan_as + "`");
    }
    using Phase = LoadProgress::Phase;
    ETNA_TRY(auto library, device.library(plan_as, options.precision, kernels_of(file, options),
                                          counts_of(Phase::checking_kernels, options.progress)));
    const std::scoped_lock lock(device.load_mutex());
    ETNA_TRY(auto executor, engine::create_device_executor(
                                std::move(library), file,
                                {.sizes = device_sizes(options),
                                 .timestamps = options.timestamps,
                                 .planned = planned,
                                 .progress = counts_of(Phase::reading_weights, options.progress),
                                 .compile_progress = counts_of(Phase::compiling_kernels, options.progress)}));
    device.store_pipelines();
    if (checks == Checks::on)
        executor = validated(std::move(executor), device.instance());
    return scheduled(std::move(executor), std::move(client));
}

} // namespace

/// Creates the instance on the first call; after a failure the next call tries again.
Result<std::shared_ptr<vk::Instance>> Runtime::instance() {
    const std::scoped_lock lock(mutex_);
    if (instance_ == nullptr) {
        ETNA_TRY(instance_,
                 vk::Instance::create(checks_ == Checks::on ? vk::Validation::on : vk::Validation::off));
    }
    return instance_;
}

/// Returns the device if it is open; opens it otherwise, or again if it was lost.
Result<std::shared_ptr<SharedDevice>> Runtime::open(const vk::PhysicalDevice& physical,
                                                    const std::filesystem::path& cache_folder) {
    const std::scoped_lock lock(mutex_);
    std::weak_ptr<SharedDevice>& slot = devices_[physical.index];
    if (auto shared = slot.lock(); shared != nullptr && !shared->device().is_lost())
        return shared;
    ETNA_TRY(auto opened, SharedDevice::open(instance_, physical, cache_folder));
    slot = opened;
    return opened;
}

Result<DeviceReports> Runtime::list(std::string_view device, const std::filesystem::path& cache_folder) {
    ETNA_TRY(const auto shared_instance, instance());
    const auto memory = [&](const vk::PhysicalDevice& physical) -> Result<vk::MemoryState> {
        ETNA_TRY(const auto shared, open(physical, cache_folder));
        return shared->device().memory();
    };
    return list_devices(shared_instance->devices(), device, cache_folder, memory);
}

Result<KernelTimings> Runtime::bench(const KernelBenchOptions& options) {
    ETNA_TRY(const auto shared_instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(shared_instance->devices(), options.device));
    ETNA_TRY(const auto shared, open(chosen, options.cache_folder));
    ETNA_TRY(const auto library, shared->library({}, options.precision, {}));
    return bench_kernels(*library, options);
}

Result<DeviceRates> Runtime::rates(const RateRequest& request) {
    ETNA_TRY(const auto shared_instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(shared_instance->devices(), request.device));
    const DeviceFile file(request.cache_folder, chosen.profile, "rates");
    ETNA_TRY(const auto shared, open(chosen, request.cache_folder));
    ETNA_TRY(const auto library, shared->library({}, kernels::Precision::exact, no_kernels));
    ETNA_TRY(DeviceRates rates, measure_rates(*library, request.progress));
    if (const auto stored = read_rates(file))
        rates = best_of(rates, *stored);
    write_rates(file, rates);
    return rates;
}

Result<TuneReport> Runtime::tune(const gguf::File& file, const TuneRequest& request) {
    ETNA_TRY(const auto shared_instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(shared_instance->devices(), request.device));
    ETNA_TRY(const auto shared, open(chosen, request.cache_folder));
    ETNA_TRY(const auto library, shared->library(request.plan_as, request.precision, kernels_of(file, {})));
    kernels::PlanTarget target = library->target();
    target.tuning = {};
    ETNA_TRY(const model::Blueprint blueprint, model::plan_model(file, target));
    const kernels::TuneOptions options{
        .library = {.family = target.family, .untrusted = target.untrusted, .precision = target.precision},
        .is_cancelled = request.is_cancelled};
    ETNA_TRY(const std::vector<kernels::TunedShape> shapes,
             model::tuned_shapes(model::DryModel(blueprint, target)));
    return tune_shapes(shared->device(), shapes, options, request);
}

Result<std::string> Runtime::forget_tuning(std::string_view device,
                                           const std::filesystem::path& cache_folder) {
    ETNA_TRY(const auto shared_instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(shared_instance->devices(), device));
    const kernels::PlanFamily family = kernels::natural_family(chosen.profile);
    for (const auto precision : {kernels::Precision::exact, kernels::Precision::fast})
        ETNA_CHECK(StoredTuning(cache_folder, chosen.profile, family, precision).forget());
    return chosen.profile.name;
}

Result<LoadedExecutor> Runtime::load(const gguf::File& file, const ExecutorOptions& options) {
    ETNA_TRY(const auto shared_instance, instance());
    ETNA_TRY(const vk::PhysicalDevice chosen, vk::select_device(shared_instance->devices(), options.device));
    ETNA_TRY(const auto shared, open(chosen, options.cache_folder));
    auto client = options.client;
    if (client == nullptr || client->turns() != shared->turns())
        client = std::make_shared<DeviceClient>(shared->turns());
    model::WeightReads weight_reads;
    model::HostExperts host_experts;
    uint64_t memory_bytes = 0;
    DeviceMemoryUse device_use;
    bool has_adapted_kv_type = false;
    const auto planned = [&](const engine::DevicePlan& plan, const engine::MemoryPlan& memory) {
        weight_reads = plan.weight_reads;
        host_experts = plan.host_experts;
        memory_bytes = memory.reserved_bytes();
        device_use = device_use_of(memory);
        has_adapted_kv_type = plan.cache_formats != device_sizes(options).cache_formats;
    };
    ETNA_TRY(auto executor, load_onto(*shared, file, options, client, checks_, planned));
    const vk::DeviceProfile& profile = shared->device().profile();
    return LoadedExecutor{
        .device = shared,
        .client = std::move(client),
        .executor = std::move(executor),
        .device_name = profile.name,
        .on_cpu = profile.type == vk::DeviceType::cpu,
        .memory =
            [shared] {
                const vk::MemoryState state = shared->device().memory();
                return DeviceMemory{.free_bytes = state.free_bytes,
                                    .total_bytes = state.total_bytes,
                                    .peak_bytes = state.peak_bytes};
            },
        .memory_bytes = memory_bytes,
        .device_use = device_use,
        .weight_reads = weight_reads,
        .host_experts = host_experts,
        .has_adapted_kv_type = has_adapted_kv_type,
        .copy_rate = [shared]() -> Result<double> {
            ETNA_TRY(const auto library, shared->library({}, kernels::Precision::exact, no_kernels));
            return measure_copy_rate(*library);
        },
        .matrix_rate = [shared]() -> Result<double> {
            ETNA_TRY(const auto library, shared->library({}, kernels::Precision::exact, no_kernels));
            return kernels::measure_matrix_rate(*library);
        },
        .timings = [shared] { return shared->device().timings(); }};
}

} // namespace etna::runtime
