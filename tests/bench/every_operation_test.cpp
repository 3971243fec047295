#include "tests/bench/every_operation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <optional>
#include <set>

using namespace etna;

namespace {

/// Records every operation on a device and a library with these options; adds the variants of the pipelines.
void record_all(vk::DeviceOptions options, const kernels::LibraryOptions& planned,
                std::set<shaders::Variant>& seen) {
    const test::Gpu gpu = test::gpu();
    options.use = vk::DeviceUse::inspection;
    auto device = vk::Device::create(gpu.instance, gpu.physical, options);
    REQUIRE(device);
    kernels::Library library(**device, planned);
    for (const bench::OperationCase& operation : bench::every_operation(library.target())) {
        INFO(operation.name);
        auto recorder = vk::Recorder::create(**device);
        REQUIRE(recorder);
        operation.record(library, *recorder);
        const auto commands = recorder->finish();
        INFO((commands ? "" : commands.error().message));
        REQUIRE(commands);
        REQUIRE(commands->dispatch_count() > 0);
    }
    for (const kernels::CreatedPipeline& created : library.created())
        seen.insert(created.variant);
}

} // namespace

TEST_CASE("every shader variant that a device can run is asked for by an operation") {
    std::set<shaders::Variant> seen;
    record_all({}, {}, seen);
    record_all({}, {.family = kernels::PlanFamily::nvidia}, seen); // attention_decode
    record_all({}, {.family = kernels::PlanFamily::nvidia, .precision = kernels::Precision::fast}, seen);
    record_all({}, {.family = kernels::PlanFamily::nvidia, .untrusted = bench::codes_kernels()}, seen);
    record_all({.mask_optional_features = true}, {}, seen);
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        INFO(shaders::code(variant).name
             << " (a new kernel needs a line in tests/bench/every_operation.cpp)");
        CHECK(seen.contains(variant) == kernels::usable(variant, test::gpu().physical.profile).has_value());
    }
}
