#include "core/engine/device/device_executor.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/model/model.hpp"
#include "core/vk/device.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/vulkan.hpp"

#include <array>
#include <memory>
#include <optional>

using namespace etna;
using namespace etna::test;

// The plan of a model's memory, compared with the allocations of the device.
namespace {

using engine::MemoryPlace;
using kernels::CacheFormat;

/// A separate device, whose allocator holds nothing else.
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

RandomModelOptions planned_model(RandomArchitecture architecture) {
    return {.architecture = architecture,
            .layers = 4,
            .context = 65536,
            .shared_kv_layers = 2,
            .laurel_rank = 32,
            .matrices = WeightFormat::q8_0,
            .tokenizer = RandomTokenizer::none};
}

} // namespace

TEST_CASE("a memory plan matches the later allocations", "[device]") {
    constexpr std::array contexts{64U, 4096U, 0U};
    std::size_t number = 0; // of an architecture with a format
    for (const RandomArchitecture architecture : all_random_architectures) {
        const Bytes bytes = random_model(planned_model(architecture));
        const auto file = gguf::File::parse(bytes, "test model");
        REQUIRE(file);
        const FreshDevice fresh;
        ++number; // so that the architectures pair formats and contexts in turn
        for (const CacheFormat keys : {CacheFormat::f16, CacheFormat::f32, CacheFormat::q8_0}) {
            const CacheFormat values = keys == CacheFormat::f32 ? CacheFormat::q8_0 : keys;
            for (const uint32_t context : in_turn(contexts, number++)) {
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
        RandomModelOptions options = planned_model(RandomArchitecture::gemma3);
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

TEST_CASE("the error for a model that does not fit gives its memory in Q4_K_M if that fits") {
    RandomModelOptions options = planned_model(RandomArchitecture::llama);
    options.vocabulary = 100000; // two matrices of 26 MB in F32
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    kernels::PlanTarget target;
    target.profile.name = "Small GPU";
    auto blueprint = model::plan_model(*file, target);
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

namespace {

/// Six layers, five of them with stacks of 8 experts, two of which a token chooses; about 2 MiB a layer in
/// F16.
RandomModelOptions mixture() {
    RandomModelOptions options = planned_model(RandomArchitecture::glm4moe);
    options.layers = 6;
    options.dense_layers = 1;
    options.embedding = 256;
    options.experts = 8;
    options.experts_used = 2;
    options.expert_feed_forward = 256;
    options.matrices = WeightFormat::f16;
    return options;
}

kernels::PlanTarget discrete_gpu() {
    kernels::PlanTarget target;
    target.profile.name = "Small GPU";
    target.profile.type = vk::DeviceType::discrete;
    target.profile.allocation_bytes_max = 4 * gibibyte;
    return target;
}

} // namespace

TEST_CASE("experts of the last layers go to host memory, as few as let a mixture fit") {
    const Bytes bytes = random_model(mixture());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const kernels::PlanTarget target = discrete_gpu();
    auto blueprint = model::plan_model(*file, target);
    REQUIRE(blueprint);
    CHECK(model::expert_layers(*blueprint) == 5);
    const uint64_t all_bytes = blueprint->weight_bytes;
    uint64_t layer_bytes = 0; // of the last layer's stacks
    for (const model::PlannedTensor& tensor : blueprint->tensors) {
        if (tensor.role == model::TensorRole::stack && tensor.name.starts_with("blk.5."))
            layer_bytes += tensor.device_bytes();
    }
    REQUIRE(layer_bytes > mebibyte);

    const auto plan = [&](uint64_t free_bytes, engine::DeviceSizes sizes = {},
                          std::optional<uint64_t> host_free_bytes = {}) {
        sizes.context_tokens = 64;
        sizes.sequences_max = 1;
        return engine::plan_load(
            *file, *blueprint, target, sizes,
            {.free_bytes = free_bytes, .total_bytes = free_bytes, .host_free_bytes = host_free_bytes});
    };
    const auto whole = plan(gibibyte);
    REQUIRE(whole);
    CHECK(whole->host_experts.layers == 0);
    const uint64_t needed = whole->weight_bytes + whole->workspace_bytes + whole->cache_bytes;

    // The margin is 64 MiB and a part of the free memory: find the smallest memory with each count of layers.
    uint32_t before = 0;
    for (uint64_t free_bytes = needed + 200 * mebibyte; free_bytes > 60 * mebibyte;
         free_bytes -= layer_bytes / 4) {
        const auto fitted = plan(free_bytes);
        if (!fitted)
            break;
        const uint32_t layers = fitted->host_experts.layers;
        INFO(free_bytes << " bytes free, " << layers << " layers in host memory");
        CHECK((layers == before || layers == before + 1));
        CHECK(fitted->host_experts.bytes == layers * layer_bytes);
        CHECK(fitted->host_experts.row_bytes == layers * layer_bytes / 4);
        CHECK(fitted->weight_bytes == all_bytes - layers * layer_bytes);
        before = layers;
    }
    CHECK(before == 5);

    const auto chosen = plan(gibibyte, {.host_expert_layers = 2});
    REQUIRE(chosen);
    for (const model::PlannedTensor& tensor : blueprint->tensors) {
        const bool is_last = tensor.name.starts_with("blk.5.") || tensor.name.starts_with("blk.4.");
        CHECK(tensor.is_in_host == (is_last && tensor.role == model::TensorRole::stack));
    }
    CHECK(plan(gibibyte, {.host_expert_layers = 9})->host_experts.layers == 5);

    const auto too_small = plan(60 * mebibyte);
    REQUIRE(!too_small);
    CHECK(too_small.error().hint.find("; this is with all experts in host memory") != std::string::npos);

    const auto refused = plan(gibibyte, {.host_expert_layers = 5}, mebibyte);
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::out_of_memory);
    CHECK(refused.error().message == "m.gguf: experts of 5 layers need 0.0 GiB of host memory, 0.0 GiB are "
                                     "free, of which a part stays in reserve");
}

TEST_CASE("experts that host memory has room for go there, even if little context is left") {
    const Bytes bytes = random_model(mixture());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const kernels::PlanTarget target = discrete_gpu();
    auto blueprint = model::plan_model(*file, target);
    REQUIRE(blueprint);
    model::place_experts(*blueprint, 1);
    const uint64_t layer_bytes = blueprint->host_experts.bytes;
    // Room for one layer, and none for two.
    const uint64_t host_bytes = (64 * mebibyte + layer_bytes + layer_bytes / 2) * 32 / 31;
    uint32_t small_plans = 0;
    for (uint64_t free_bytes = gibibyte / 2; free_bytes > 60 * mebibyte; free_bytes -= layer_bytes / 8) {
        const auto plan = engine::plan_load(
            *file, *blueprint, target, {.sequences_max = 1},
            {.free_bytes = free_bytes, .total_bytes = free_bytes, .host_free_bytes = host_bytes});
        if (!plan)
            break;
        CHECK(plan->host_experts.layers <= 1);
        CHECK(plan->host_experts.layers == blueprint->host_experts.layers);
        small_plans += plan->host_experts.layers;
    }
    CHECK(small_plans > 0);
}

TEST_CASE("a model takes at most memory_bytes_max, on the device and in host memory together") {
    const Bytes bytes = random_model(mixture());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const kernels::PlanTarget target = discrete_gpu();
    uint32_t plans = 0;
    uint32_t host_plans = 0;
    for (uint64_t bytes_max = gibibyte / 2; bytes_max > 60 * mebibyte; bytes_max -= mebibyte / 4) {
        auto blueprint = model::plan_model(*file, target);
        REQUIRE(blueprint);
        const auto plan =
            engine::plan_load(*file, *blueprint, target, {.sequences_max = 1, .memory_bytes_max = bytes_max},
                              {.free_bytes = gibibyte, .total_bytes = gibibyte, .host_free_bytes = gibibyte});
        if (!plan)
            break;
        CAPTURE(bytes_max, plan->host_experts.layers);
        const engine::MemoryPlan memory = engine::plan_memory(*blueprint, target, *plan);
        CHECK(memory.reserved_bytes() <= bytes_max);
        ++plans;
        host_plans += plan->host_experts.layers > 0 ? 1 : 0;
    }
    CHECK(plans > 0);
    CHECK(host_plans > 0);
}

TEST_CASE("memory does not cut a context below context_tokens_min") {
    RandomModelOptions options = planned_model(RandomArchitecture::llama);
    options.context = 4096;
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const kernels::PlanTarget target = discrete_gpu();
    uint32_t cut = 0;
    uint32_t refused = 0;
    for (uint64_t free_bytes = 200 * mebibyte; free_bytes > 64 * mebibyte; free_bytes -= mebibyte / 4) {
        const auto plan_with = [&](uint32_t context_tokens_min) {
            auto blueprint = model::plan_model(*file, target);
            REQUIRE(blueprint);
            return engine::plan_load(*file, *blueprint, target,
                                     {.sequences_max = 1, .context_tokens_min = context_tokens_min},
                                     {.free_bytes = free_bytes, .total_bytes = free_bytes});
        };
        const auto any = plan_with(0);
        const auto bounded = plan_with(8192); // more than the model's own
        CHECK(bounded.has_value() == (any && any->limits.context_tokens == 4096));
        cut += any && any->limits.context_tokens < 4096 ? 1 : 0;
        refused += any && !bounded && bounded.error().kind == ErrorKind::out_of_memory ? 1 : 0;
    }
    CHECK(cut > 0);
    CHECK(refused == cut);
}

TEST_CASE("a draft head is left out of a model that fits only without it") {
    const Bytes bytes = random_model(
        {.architecture = RandomArchitecture::qwen35, .layers = 4, .vocabulary = 300, .predicting_layers = 1});
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const kernels::PlanTarget target = discrete_gpu();
    // Whether the planned model has the head; nothing if it is refused.
    const auto has_head = [&](uint64_t free_bytes, bool head) -> std::optional<bool> {
        auto blueprint = model::plan_model(*file, target, {.has_draft_head = head});
        REQUIRE(blueprint);
        const auto plan = engine::plan_load(*file, *blueprint, target, {.context_tokens = 64},
                                            {.free_bytes = free_bytes, .total_bytes = free_bytes});
        if (!plan)
            return std::nullopt;
        CHECK(plan->limits.has_draft_head == blueprint->config.has_draft_head);
        return blueprint->config.has_draft_head;
    };
    REQUIRE(has_head(gibibyte, true) == true);
    uint64_t refused = 0; // bytes without room for the model alone
    uint64_t fitting = gibibyte;
    while (fitting - refused > 1) {
        const uint64_t middle = refused + (fitting - refused) / 2;
        (has_head(middle, false) ? fitting : refused) = middle;
    }
    CHECK(has_head(fitting, true) == false);
    CHECK(has_head(refused, true) == std::nullopt);
}

TEST_CASE("the matrices of latent attention stay on the device") {
    RandomModelOptions options = mixture();
    options.architecture = RandomArchitecture::deepseek2;
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    auto blueprint = model::plan_model(*file, discrete_gpu());
    REQUIRE(blueprint);
    CHECK(model::expert_layers(*blueprint) == 5);
    model::place_experts(*blueprint, 5);
    for (const model::PlannedTensor& tensor : blueprint->tensors) {
        INFO(tensor.name);
        CHECK(tensor.is_in_host == (tensor.name.find("_exps.") != std::string::npos));
    }
}

TEST_CASE("no experts move where device memory is the host's, unless asked for") {
    const Bytes bytes = random_model(mixture());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    kernels::PlanTarget target = discrete_gpu();
    target.profile.unified_memory = true;
    auto blueprint = model::plan_model(*file, target);
    REQUIRE(blueprint);
    const auto plan = [&](uint64_t free_bytes, std::optional<uint32_t> layers) {
        return engine::plan_load(*file, *blueprint, target,
                                 {.context_tokens = 64, .sequences_max = 1, .host_expert_layers = layers},
                                 {.free_bytes = free_bytes, .total_bytes = free_bytes});
    };
    const auto whole = plan(gibibyte, {});
    const auto moved = plan(gibibyte, 5);
    REQUIRE(whole);
    REQUIRE(moved);
    CHECK(moved->host_experts.layers == 5);
    CHECK(moved->weight_bytes == whole->weight_bytes); // the same memory
    CHECK(!plan(70 * mebibyte, {}));
    CHECK(blueprint->host_experts.layers == 0);
}

TEST_CASE("a mixture with experts in host memory computes the same bits", "[device]") {
    const Bytes bytes = random_model(mixture());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const FreshDevice fresh;
    const auto logits = [&](uint32_t layers) {
        const Loaded loaded =
            load(fresh, *file, {.context_tokens = 128, .sequences_max = 4, .host_expert_layers = layers});
        check_used(loaded.plan, fresh.device->allocated());
        return run_together(
            *loaded.executor,
            {{.tokens = random_tokens(40, loaded.executor->limits().vocabulary, 1), .prompt = 30}},
            PageOrder::consecutive);
    };
    CHECK(logits(0) == logits(3));
}
