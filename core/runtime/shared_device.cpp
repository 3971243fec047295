#include "core/runtime/shared_device.hpp"

#include "core/runtime/self_check.hpp"
#include "core/runtime/tuning.hpp"

#include <utility>

namespace etna::runtime {

SharedDevice::SharedDevice(std::shared_ptr<vk::Instance> instance, std::filesystem::path cache_folder,
                           PipelineCache pipelines, std::unique_ptr<vk::Device> device)
    : instance_(std::move(instance)), cache_folder_(std::move(cache_folder)), device_(std::move(device)),
      pipelines_(std::move(pipelines)) {}

Result<std::shared_ptr<SharedDevice>> SharedDevice::open(std::shared_ptr<vk::Instance> instance,
                                                         const vk::PhysicalDevice& physical,
                                                         const std::filesystem::path& cache_folder) {
    PipelineCache pipelines(cache_folder, physical.profile);
    ETNA_TRY(std::unique_ptr<vk::Device> device,
             vk::Device::create(*instance, physical, {.pipeline_cache = pipelines.stored()}));
    return std::shared_ptr<SharedDevice>(
        new SharedDevice(std::move(instance), cache_folder, std::move(pipelines), std::move(device)));
}

Result<std::shared_ptr<kernels::Library>>
SharedDevice::library(std::optional<kernels::PlanFamily> plan_as, kernels::Precision precision,
                      const kernels::NeededKernels& needed,
                      const std::function<void(std::size_t, std::size_t)>& progress) {
    const kernels::PlanFamily family = plan_as.value_or(kernels::natural_family(device_->profile()));
    const std::scoped_lock lock(mutex_);
    ETNA_TRY(const kernels::VariantSet untrusted, check_kernels(*device_, {.cache_folder = cache_folder_,
                                                                           .plan_as = family,
                                                                           .precision = precision,
                                                                           .needed = needed,
                                                                           .progress = progress}));
    const kernels::PlanTarget untuned{
        .family = family, .profile = device_->profile(), .untrusted = untrusted, .precision = precision};
    const kernels::Tuning tuning =
        tuning_of(StoredTuning(cache_folder_, untuned.profile, family, precision).read(untuned));
    for (const auto& library : libraries_) {
        const kernels::PlanTarget& target = library->target();
        if (target.family == family && target.untrusted == untrusted && target.precision == precision &&
            target.tuning == tuning)
            return library;
    }
    return libraries_.emplace_back(std::make_shared<kernels::Library>(
        *device_, kernels::LibraryOptions{
                      .family = family, .untrusted = untrusted, .precision = precision, .tuning = tuning}));
}

void SharedDevice::store_pipelines() {
    const std::scoped_lock lock(mutex_);
    pipelines_.keep(device_->pipeline_cache());
}

} // namespace etna::runtime
