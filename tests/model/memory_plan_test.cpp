#include "core/engine/device/device_executor.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/model/model.hpp"
#include "core/vk/device.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <array>
#include <memory>
#include <optional>

using namespace etna;
using namespace etna::test;

// The plan of a model's memory, compared with what the device's allocator has then handed out.
namespace {

using engine::MemoryPlace;
using kernels::CacheFormat;

/// A device of its own, whose allocator holds nothing else.
struct FreshDevice {
    std::unique_ptr<vk::Device> device;
    std::shared_ptr<kernels::Library> library;

    FreshDevice() {
        const Gpu shared = gpu();
        auto created = vk::Device::create(shared.instance, shared.physical, shared.options);
        REQUIRE(created);
        device = std::move(*created);
        library = std::make_shared<kernels::Library>(*device, kernels::LibraryOptions{});
    }
};

/// Within 2 %.
void check_near(uint64_t planned, uint64_t allocated) {
    CHECK(static_cast<double>(planned) == Approx(static_cast<double>(allocated)).epsilon(0.02));
}

struct Loaded {
    engine::MemoryPlan plan;
    std::unique_ptr<engine::Executor> executor;
};

Loaded load(const FreshDevice& fresh, const gguf::File& file, const engine::DeviceSizes& sizes) {
    std::optional<engine::MemoryPlan> plan;
    const auto planned = [&](const engine::DevicePlan&, const engine::MemoryPlan& memory) { plan = memory; };
    auto executor = engine::create_device_executor(fresh.library, file,
                                                   {.sizes = sizes, .planned = planned, .progress = {}});
    if (!executor)
        FAIL(executor.error().message);
    REQUIRE(plan);
    return {std::move(*plan), std::move(*executor)};
}

void check_used(const engine::MemoryPlan& plan, const vk::AllocatedMemory& memory) {
    check_near(plan.used_bytes(MemoryPlace::device), memory.device.used_bytes);
    check_near(plan.used_bytes(MemoryPlace::host), memory.host.used_bytes);
}

RandomModelOptions model_of(RandomArchitecture architecture) {
    return {.architecture = architecture,
            .layers = 4,
            .context = 65536,
            .shared_kv_layers = 2,
            .matrices = WeightFormat::q8_0,
            .tokenizer = RandomTokenizer::none};
}

} // namespace

TEST_CASE("a plan of memory is what the allocator then hands out", "[device]") {
    for (const RandomArchitecture architecture : all_random_architectures) {
        const Bytes bytes = random_model(model_of(architecture));
        const auto file = gguf::File::parse(bytes, "test model");
        REQUIRE(file);
        const FreshDevice fresh;
        for (const CacheFormat keys : {CacheFormat::f16, CacheFormat::f32, CacheFormat::q8_0}) {
            const CacheFormat values = keys == CacheFormat::f32 ? CacheFormat::q8_0 : keys;
            for (const uint32_t context : {64U, 4096U, 0U}) {
                INFO(to_string(architecture) << ", keys " << to_string(keys) << ", context " << context);
                REQUIRE(fresh.device->allocated().device.used_bytes == 0);
                const Loaded loaded =
                    load(fresh, *file,
                         {.context_tokens = context, .cache_formats = {keys, values}, .sequences_max = 4});
                check_used(loaded.plan, fresh.device->allocated());
            }
        }
    }
}

TEST_CASE("a plan of memory has the blocks that an empty device then takes", "[device]") {
    for (const uint32_t contexts : {1U, 40U}) {
        RandomModelOptions options = model_of(RandomArchitecture::gemma3);
        options.vocabulary = 20000; // two matrices of 5 MB, logits of 5 MB
        const Bytes bytes = random_model(options);
        const auto file = gguf::File::parse(bytes, "test model");
        REQUIRE(file);
        const FreshDevice fresh;
        const Loaded loaded =
            load(fresh, *file, {.context_tokens = 8192, .contexts = contexts, .sequences_max = 40});
        const vk::AllocatedMemory memory = fresh.device->allocated();
        check_used(loaded.plan, memory);
        check_near(loaded.plan.reserved_bytes(MemoryPlace::device), memory.device.reserved_bytes);
        check_near(loaded.plan.reserved_bytes(MemoryPlace::host), memory.host.reserved_bytes);
    }
}

TEST_CASE("the refusal of a model tells what it would need in Q4_K_M, if that fits") {
    RandomModelOptions options = model_of(RandomArchitecture::llama);
    options.vocabulary = 100000; // two matrices of 26 MB in F32
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    kernels::PlanTarget target;
    target.profile.name = "Small GPU";
    const auto blueprint = model::plan_model(*file, target);
    REQUIRE(blueprint);
    const auto refusal = [&](uint64_t free_bytes) {
        const auto plan = engine::plan_load(*file, *blueprint, target, {.context_tokens = 64},
                                            {.free_bytes = free_bytes, .total_bytes = free_bytes});
        REQUIRE(!plan);
        return plan.error();
    };
    const Error small = refusal(140 * mebibyte);
    CHECK(small.message.ends_with(" 140 MiB are free on Small GPU"));
    CHECK(small.hint.ends_with("; in Q4_K_M the model would need about 0.1 GiB"));
    CHECK(refusal(80 * mebibyte).hint.find("Q4_K_M") == std::string::npos);
}
